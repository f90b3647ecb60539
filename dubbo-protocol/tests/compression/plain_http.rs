//! `content-encoding` of calls without gRPC.

use crate::support::{ALL, Answer, ECHO, Provider, long, packed, unpacked};

async fn post(provider: &Provider, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    provider.call(ECHO, &all, body.to_vec()).await
}

fn json(text: &str) -> Vec<u8> {
    format!("{{\"text\":\"{text}\"}}").into_bytes()
}

#[tokio::test]
async fn bodies_are_read_in_every_compression() {
    let provider = Provider::with("").await;
    for encoding in ALL {
        let body = packed(encoding, &json(&long()));
        let answer = post(&provider, &[("content-encoding", encoding)], &body).await;
        assert_eq!((answer.status, &answer.body), (200, &json(&long())));
        assert_eq!(answer.header("content-encoding"), None);
        assert_eq!(answer.header("accept-encoding"), Some("gzip,deflate,zstd"));
    }
    let answer = post(&provider, &[("content-encoding", "identity")], &json("x")).await;
    assert_eq!((answer.status, answer.body), (200, json("x")));
}

#[tokio::test]
async fn a_body_is_compressed_for_who_takes_it_by_weight() {
    let provider = Provider::with(".compression.send=gzip,zstd").await;
    for (accepted, want) in [
        (None, None),
        (Some("br"), None),
        (Some("gzip, deflate, br, zstd"), Some("gzip")),
        (Some("gzip;q=0.2, zstd;q=0.9"), Some("zstd")),
        (Some("*;q=0.1"), Some("gzip")),
        (Some("gzip;q=0"), None),
    ] {
        let headers: Vec<_> = accepted
            .map(|value| ("accept-encoding", value))
            .into_iter()
            .collect();
        let answer = post(&provider, &headers, &json(&long())).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-encoding"), want, "{accepted:?}");
        // A cache that keeps one for all would give it to those who cannot read it.
        assert_eq!(answer.header("vary"), Some("accept-encoding"));
        let body = want.map(|encoding| unpacked(encoding, &answer.body));
        assert_eq!(body.as_ref().unwrap_or(&answer.body), &json(&long()));
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(&*length));
    }
    let headers = [("accept-encoding", "gzip")];
    let answer = post(&provider, &headers, &json("short")).await;
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.body, json("short"));
    let answer = post(&provider, &headers, &json(&"fail".repeat(500))).await;
    assert_eq!(
        (answer.status, answer.header("content-encoding")),
        (412, None)
    );
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused_in_words() {
    let provider = Provider::with("").await;
    let bomb = packed("zstd", &vec![b' '; 5 << 20]);
    for (encoding, body, status, parts) in [
        (
            "br",
            &b"x"[..],
            404,
            ["unimplemented", "gzip, deflate and zstd"],
        ),
        ("gzip", b"x", 400, ["invalid_argument", "is no gzip"]),
        ("deflate", b"x", 400, ["invalid_argument", "is no deflate"]),
        (
            "zstd",
            &bomb,
            413,
            ["resource_exhausted", "limit of 4194304"],
        ),
    ] {
        let answer = post(&provider, &[("content-encoding", encoding)], body).await;
        let text = String::from_utf8(answer.body.clone()).expect("text");
        assert_eq!(answer.status, status, "{text}");
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(answer.header("accept-encoding"), Some("gzip,deflate,zstd"));
    }
}
