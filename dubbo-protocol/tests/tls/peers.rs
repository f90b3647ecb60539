//! Peers of all kinds at a port with TLS and at one without.

use dubbo_test::{
    certificates::{Authority, Installed},
    peer::h2::{Client, envelope},
    soon,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{Provider, mutual, one_way, refusal, shake_hands, stub, triple};

fn installed(authority: &Authority) -> Installed {
    Installed::new(&[authority], &authority.issue(&["127.0.0.1"]))
}

#[tokio::test]
async fn http2_is_served_whether_or_not_it_was_negotiated() {
    let authority = Authority::new();
    let files = installed(&authority);
    let provider = Provider::new(one_way(&files)).await;
    for (offered, agreed) in [
        (&["h2"][..], Some("h2")),
        (&["http/1.1", "h2"], Some("h2")),
        // Dubbo Java and simple tools.
        (&[], None),
    ] {
        let stream = shake_hands(provider.address, &files.ca(), None, offered).await;
        let stream = stream.expect("they agree");
        let alpn = stream.get_ref().1.alpn_protocol();
        assert_eq!(alpn, agreed.map(str::as_bytes), "{offered:?}");
        let mut client = Client::over(stream, "127.0.0.1").await;
        let headers = [("content-type", "application/grpc"), ("te", "trailers")];
        let mut call = client.post("/greet.Greeter/Greet", &headers).await;
        call.data(envelope(b"\n\x01x"), true);
        assert_eq!(call.response().await.status, 200, "{offered:?}");
        assert_eq!(call.body().await, envelope(b"\n\x07hello x"));
        assert_eq!(call.trailers().await.expect("some")["grpc-status"], "0");
    }
}

#[tokio::test]
async fn http1_is_negotiated_too_and_nothing_else_is() {
    let authority = Authority::new();
    let files = installed(&authority);
    let provider = Provider::new(one_way(&files)).await;
    let stream = shake_hands(provider.address, &files.ca(), None, &["http/1.1"]).await;
    let mut stream = stream.expect("they agree");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let request = b"GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("open");
    let mut answer = Vec::new();
    // The end of the bytes is the end, with or without a word of TLS.
    let _ = soon("an answer", stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");

    let error = shake_hands(provider.address, &files.ca(), None, &["spdy/3"]).await;
    let error = error.expect_err("nobody speaks it");
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
}

#[tokio::test]
async fn who_speaks_no_tls_where_tls_is_spoken_is_told_so() {
    let authority = Authority::new();
    let files = installed(&authority);
    let provider = Provider::new(mutual(&files)).await;
    let plain = triple(dubbo_core::tls::TlsFiles::none());
    let message = refusal(&stub(&*plain, provider.address, "").await).await;
    let want = "if it demands TLS, set `dubbo.tls_config.ca-cert-file`";
    assert!(message.contains(want), "{message}");

    let mut socket = TcpStream::connect(provider.address)
        .await
        .expect("it listens");
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    socket.write_all(request).await.expect("open");
    let mut answer = String::new();
    let read = soon("an answer", socket.read_to_string(&mut answer)).await;
    read.expect("it is closed in good order");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.ends_with("use https://\n"), "{answer}");
}

#[tokio::test]
async fn who_speaks_tls_where_nobody_does_is_told_so() {
    let authority = Authority::new();
    let files = installed(&authority);
    let provider = Provider::new(dubbo_core::tls::TlsFiles::none()).await;
    let secure = triple(mutual(&files));
    let message = refusal(&stub(&*secure, provider.address, "").await).await;
    assert!(message.contains("it may serve no TLS"), "{message}");
}

#[tokio::test]
async fn both_sides_show_certificates_and_look_at_the_others() {
    let (authority, other) = (Authority::new(), Authority::new());
    let provider = Provider::new(mutual(&installed(&authority))).await;
    let known = installed(&authority);
    let nameless = {
        let mut files = mutual(&known);
        (files.cert, files.key) = (None, None);
        files
    };
    let stranger = Installed::new(&[&authority], &other.issue(&["client"]));
    let late = Installed::new(&[&authority], &authority.issue_expired(&["client"]));
    let doubter = Installed::new(&[&other], &authority.issue(&["client"]));
    for (files, want) in [
        (mutual(&known), Ok("hello x")),
        (nameless, Err("demands a certificate")),
        (mutual(&stranger), Err("does not know the authority")),
        (mutual(&late), Err("CertificateExpired")),
        (mutual(&doubter), Err("it is from no authority in")),
    ] {
        let stub = stub(&*triple(files), provider.address, "").await;
        match want {
            Ok(want) => assert_eq!(crate::support::greet(&stub).await.expect("good"), want),
            Err(want) => {
                let message = refusal(&stub).await;
                assert!(message.contains(want), "{want} in {message}");
            }
        }
    }
}
