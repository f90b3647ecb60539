//! What our server answers with, and what our client takes.

use dubbo_core::{
    codegen::prost::Message as _,
    status::{Code, Origin},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{peer::h2::Server, soon};

use crate::support::{
    ALL, ECHO, Provider, REPEAT, all, echo, envelope, long, packed, repeat, request, stub, text,
};

#[tokio::test]
async fn an_answer_is_compressed_as_the_server_prefers_among_what_the_caller_takes() {
    for (send, accepted, want) in [
        ("", Some("gzip,deflate,zstd"), None),
        ("gzip", None, None),
        ("gzip", Some("identity"), None),
        ("gzip", Some("deflate,zstd,br"), None),
        // The server knows gzip, and was not told to use it.
        ("zstd", Some("gzip,zstd,identity"), Some("zstd")),
        ("zstd", Some("gzip,identity"), None),
        ("gzip", Some("gzip"), Some("gzip")),
        ("deflate", Some("deflate"), Some("deflate")),
        ("zstd,gzip", Some("gzip,deflate,zstd"), Some("zstd")),
        ("gzip,zstd", Some("zstd,gzip"), Some("gzip")),
        ("zstd,gzip", Some("bzip2,gzip,snappy"), Some("gzip")),
        ("gzip,zstd", Some("gzip;q=0.1,zstd"), Some("zstd")),
        ("gzip,zstd", Some("gzip;q=0"), None),
    ] {
        let provider = Provider::with(&format!(".compression.send={send}")).await;
        let mut headers = vec![];
        headers.extend(accepted.map(|accepted| ("grpc-accept-encoding", accepted)));
        let answer = provider.call(ECHO, &headers, request(None, &long())).await;
        let case = format!("{send:?} for {accepted:?}");
        assert_eq!(answer.header("grpc-encoding"), want, "{case}");
        assert_eq!(answer.texts(), [(want.is_some(), long())], "{case}");
        let offer = answer.header("grpc-accept-encoding");
        assert_eq!(offer, Some("gzip,deflate,zstd"), "{case}");
        if want.is_some() {
            assert!(answer.body.len() < long().len() / 4, "{case}");
        }
    }
}

#[tokio::test]
async fn a_request_may_be_compressed_in_one_way_and_its_answer_in_another() {
    let provider = Provider::with(".compression.send=zstd").await;
    let headers = [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "zstd")];
    let answer = provider
        .call(ECHO, &headers, request(Some("gzip"), &long()))
        .await;
    assert_eq!(answer.header("grpc-encoding"), Some("zstd"));
    assert_eq!(answer.texts(), [(true, long())]);
    // What somebody sends is not what it takes.
    let answer = provider
        .call(ECHO, &headers[..1], request(Some("gzip"), &long()))
        .await;
    assert_eq!(answer.texts(), [(false, long())]);
}

#[tokio::test]
async fn short_messages_are_left_as_they_are_from_a_length_that_can_be_set() {
    for (query, len, is_packed) in [
        ("", 1_020, false),
        ("", 1_021, true),
        ("&.compression.min-size=100", 97, false),
        ("&.compression.min-size=100", 98, true),
        ("&.compression.min-size=0", 60, true),
        // It would grow.
        ("&.compression.min-size=0", 1, false),
        ("&.compression.min-size=0", 0, false),
    ] {
        let provider = Provider::with(&format!(".compression.send=gzip{query}")).await;
        let given = "x".repeat(len);
        let headers = [("grpc-accept-encoding", "gzip")];
        let answer = provider.call(ECHO, &headers, request(None, &given)).await;
        assert_eq!(answer.texts(), [(is_packed, given)], "{query} {len}");
    }
}

#[tokio::test]
async fn the_messages_of_a_stream_are_compressed_one_by_one() {
    for encoding in ALL {
        let provider = Provider::with(&format!(".compression.send={encoding}")).await;
        let headers = [("grpc-accept-encoding", encoding)];
        let answer = provider
            .call(REPEAT, &headers, request(None, &long()))
            .await;
        assert_eq!(answer.header("grpc-encoding"), Some(encoding));
        let want = [
            (false, "short".to_owned()),
            (true, long()),
            (false, String::new()),
        ];
        assert_eq!(answer.texts(), want, "{encoding}");
    }
}

#[tokio::test]
async fn an_error_has_nothing_compressed_and_says_no_compression() {
    let provider = Provider::with(".compression.send=gzip&.compression.min-size=0").await;
    let headers = [("grpc-accept-encoding", "gzip")];
    let given = "fail ".repeat(100);
    let answer = provider.call(ECHO, &headers, request(None, &given)).await;
    assert_eq!(answer.outcome(), (9, given));
    assert_eq!(answer.header("grpc-encoding"), None);
    assert!(answer.body.is_empty());
}

#[tokio::test]
async fn a_port_compresses_in_one_way() {
    let provider = Provider::with(".compression.send=gzip").await;
    for (query, part) in [
        (
            "",
            "`.compression.send` is nothing, and the port is open with gzip",
        ),
        (".compression.send=zstd", "`.compression.send` is zstd"),
        (
            ".compression.send=gzip&.compression.min-size=7",
            "`.compression.min-size` is 7, and the port is open with 1024",
        ),
        (
            ".compression.send=lzma",
            "the compression \"lzma\" is not known here",
        ),
    ] {
        let error = provider.refuses(query).await;
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_client_reads_what_it_offered_with_and_without_the_flag() {
    for encoding in ALL {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await.expect("a URL");
        let mut connection = server.accept().await;
        let call = async {
            let items = repeat(&stub, "x").await.expect("it began");
            all(items.into_message()).await
        };
        let peer = async {
            let mut request = connection.request().await;
            let headers = [
                ("content-type", "application/grpc+proto"),
                ("grpc-encoding", encoding),
            ];
            request.send_headers(200, &headers);
            let message = |given: &str| text(given).encode_to_vec();
            let parts = [
                envelope(1, &packed(encoding, &message(&long()))),
                envelope(0, &message("plain")),
                envelope(1, b""),
                envelope(1, &packed(encoding, &message("tiny"))),
            ];
            request.send_data(parts.concat(), false);
            request.finish("0");
            request
        };
        let (told, _request) = soon("an answer", async { tokio::join!(call, peer) }).await;
        assert_eq!(told, [&*long(), "plain", "", "tiny"], "{encoding}");
    }
}

#[tokio::test]
async fn an_answer_in_what_was_not_offered_is_an_error_in_words() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await.expect("a URL");
    let mut connection = server.accept().await;
    let call = async { echo(&stub, "x").await.expect_err("unreadable") };
    let peer = async {
        let mut request = connection.request().await;
        let headers = [
            ("content-type", "application/grpc+proto"),
            ("grpc-encoding", "snappy"),
        ];
        request.send_headers(200, &headers);
        request.send_data(envelope(1, b"x"), false);
        request.finish("0");
        request
    };
    let (status, _request) = soon("an answer", async { tokio::join!(call, peer) }).await;
    assert_eq!(
        (status.code(), status.origin()),
        (Code::Internal, Origin::Transport)
    );
    for part in [
        "compressed as \"snappy\"",
        "gzip, deflate and zstd were offered",
        "x.Texts/Echo",
    ] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
}
