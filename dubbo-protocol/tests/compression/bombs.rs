//! Messages that are small until somebody inflates them.

use dubbo_core::status::Code;
use dubbo_protocol::TripleProtocol;
use dubbo_test::{peer::h2::Server, soon};

use crate::support::{ALL, ECHO, Provider, echo, envelope, packed, request, stub};

/// So many zeros in a few bytes.
const EXPANDED: usize = 64 << 20;

fn bomb(encoding: &str) -> Vec<u8> {
    let bytes = packed(encoding, &vec![0; EXPANDED]);
    assert!(bytes.len() < EXPANDED / 500, "{encoding}: {}", bytes.len());
    envelope(1, &bytes)
}

#[tokio::test]
async fn a_request_that_inflates_beyond_the_limit_is_refused_and_the_next_is_served() {
    let provider = Provider::with("").await;
    for encoding in ALL {
        let headers = [("grpc-encoding", encoding)];
        let answer = provider.call(ECHO, &headers, bomb(encoding)).await;
        let (code, message) = answer.outcome();
        assert_eq!(code, 8, "{encoding}: {message}");
        assert!(message.contains("the limit of 4194304 bytes"), "{message}");
        let answer = provider
            .call(ECHO, &headers, request(Some(encoding), "x"))
            .await;
        assert_eq!(answer.texts(), [(false, "x".to_owned())]);
    }
}

#[tokio::test]
async fn an_answer_that_inflates_beyond_the_limit_is_refused() {
    for encoding in ALL {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await.expect("a URL");
        let mut connection = server.accept().await;
        let call = async { echo(&stub, "x").await.expect_err("too large") };
        let peer = async {
            let mut request = connection.request().await;
            let headers = [
                ("content-type", "application/grpc+proto"),
                ("grpc-encoding", encoding),
            ];
            request.send_headers(200, &headers);
            request.send_data(bomb(encoding), false);
            request.finish("0");
            request
        };
        let (status, _request) = soon("an answer", async { tokio::join!(call, peer) }).await;
        assert_eq!(
            status.code(),
            Code::ResourceExhausted,
            "{encoding}: {status}"
        );
    }
}
