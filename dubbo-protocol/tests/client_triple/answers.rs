// Long because it is one table of what a peer may answer, case by case.
//! What peers may answer, and what a caller makes of it.

use dubbo_core::{
    call::Stub,
    status::{Code, Origin, Retry, Status},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Frame, Request, Server, ServerConnection, code, envelope},
    soon,
};

use crate::support::{greet, many, message, stub};

/// Writes an answer.
type Answer = fn(&mut Request);

struct Peer {
    connection: ServerConnection,
    stub: Stub,
    _protocol: TripleProtocol,
    address: String,
}

impl Peer {
    async fn new(query: &str) -> Self {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), query).await;
        Self {
            connection: server.accept().await,
            stub,
            _protocol: protocol,
            address: server.address().to_string(),
        }
    }

    /// The outcome of a unary call that is answered by `answer`.
    async fn greeted(&mut self, answer: impl FnOnce(&mut Request)) -> Result<String, Status> {
        let call = async { greet(&self.stub, "x").await };
        let answered = async {
            let mut request = self.connection.request().await;
            answer(&mut request);
            request
        };
        let (reply, _request) = tokio::join!(soon("an answer", call), answered);
        reply.map(dubbo_core::request::Response::into_message)
    }

    /// The items and the outcome of a streaming call that is answered by `answer`.
    async fn streamed(
        &mut self,
        answer: impl FnOnce(&mut Request),
    ) -> (Vec<String>, Result<(), Status>) {
        let call = async {
            let mut items = Vec::new();
            let mut stream = match many(&self.stub, "x").await {
                Ok(reply) => reply.into_message(),
                Err(status) => return (items, Err(status)),
            };
            loop {
                match stream.message().await {
                    Ok(Some(item)) => items.push(item),
                    Ok(None) => return (items, Ok(())),
                    Err(status) => return (items, Err(status)),
                }
            }
        };
        let answered = async {
            let mut request = self.connection.request().await;
            answer(&mut request);
            request
        };
        tokio::join!(soon("an answer", call), answered).0
    }
}

#[tokio::test]
async fn status_in_headers_counts_more_than_the_status_of_http() {
    let mut peer = Peer::new("").await;
    for (http, grpc, want) in [
        (404, "12", Code::Unimplemented),
        (408, "2", Code::Unknown),
        (500, "2", Code::Unknown),
        (200, "5", Code::NotFound),
        (500, "99", Code::Other(99)),
    ] {
        let headers = [
            ("content-type", "application/grpc"),
            ("grpc-status", grpc),
            ("grpc-message", "why%21"),
            ("x-note", "n"),
        ];
        let status = peer.greeted(|request| request.send_only_headers(http, &headers));
        let status = status.await.expect_err("it failed");
        assert_eq!(status.code(), want, "HTTP {http}");
        // The peer's words, as they are.
        assert_eq!(status.message(), "why!");
        assert_eq!(status.origin(), Origin::Remote);
        assert_eq!(status.attachments().get("x-note"), Some("n"));
        let (items, outcome) = peer
            .streamed(|request| request.send_only_headers(http, &headers))
            .await;
        assert!(items.is_empty());
        assert_eq!(outcome.expect_err("it failed").code(), want);
    }
}

#[tokio::test]
async fn status_in_headers_counts_only_when_nothing_comes_after_them() {
    const EARLY: &[(&str, &str)] = &[
        ("content-type", "application/grpc"),
        ("grpc-status", "8"),
        ("x-early", "e"),
    ];
    let mut peer = Peer::new("").await;
    let cases: [(&str, Answer, Code); 4] = [
        (
            "trailers",
            |request| {
                request.send_headers(200, EARLY);
                request.send_trailers(&[("grpc-status", "9")]);
            },
            Code::FailedPrecondition,
        ),
        (
            "a message and trailers without grpc-status",
            |request| {
                request.send_headers(200, EARLY);
                request.send_message(&message("a"));
                request.send_trailers(&[("x-other", "1")]);
            },
            Code::Unknown,
        ),
        (
            "a message and no trailers",
            |request| {
                request.send_headers(200, EARLY);
                request.send_data(envelope(&message("a")), true);
            },
            Code::Unknown,
        ),
        (
            "an empty frame at the end",
            |request| {
                request.send_headers(200, EARLY);
                request.send_data("", true);
            },
            Code::ResourceExhausted,
        ),
    ];
    for (what, answer, want) in cases {
        let status = peer.greeted(answer).await.expect_err(what);
        assert_eq!(status.code(), want, "{what}: {status}");
        let (_, outcome) = peer.streamed(answer).await;
        assert_eq!(outcome.expect_err(what).code(), want, "{what}");
    }
}

#[tokio::test]
async fn the_headers_of_a_unary_answer_that_fails_are_beside_its_trailers() {
    let mut peer = Peer::new("").await;
    let status = peer
        .greeted(|request| {
            let headers = [
                ("content-type", "application/grpc"),
                ("x-early", "a"),
                ("x-early", "b"),
                ("x-blob-bin", "AAE"),
            ];
            request.send_headers(200, &headers);
            request.send_trailers(&[("grpc-status", "5"), ("x-late", "c")]);
        })
        .await
        .expect_err("it failed");
    let attachments = status.attachments();
    assert_eq!(attachments.all("x-early").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(attachments.get_bin("x-blob").as_deref(), Some(&[0, 1][..]));
    assert_eq!(attachments.get("x-late"), Some("c"));
}

#[tokio::test]
async fn an_answer_that_is_not_grpc_is_named_with_its_http_status_and_content_type() {
    let mut peer = Peer::new("").await;
    for (http, content, want) in [
        (502, "text/html", Code::Unavailable),
        (404, "application/json", Code::Unimplemented),
        (415, "text/plain", Code::Unknown),
        (200, "text/html", Code::Unknown),
        (503, "application/grpc", Code::Unavailable),
    ] {
        let status = peer
            .greeted(|request| {
                request.send_headers(http, &[("content-type", content)]);
                request.send_data("<html>busy</html>", true);
            })
            .await
            .expect_err("it failed");
        assert_eq!(status.code(), want, "{status}");
        for part in [
            &http.to_string(),
            content,
            "greet.Greeter/Greet",
            &peer.address,
        ] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
    }
    let status = peer
        .greeted(|request| request.send_only_headers(204, &[]))
        .await;
    let status = status.expect_err("it failed");
    assert!(status.message().contains("no content type"), "{status}");
}

#[tokio::test]
async fn an_answer_without_a_status_is_never_a_whole_one() {
    let mut peer = Peer::new("").await;
    let cases: [(&str, Answer, Code); 5] = [
        (
            "a message, then END_STREAM",
            |request| {
                request.accept();
                request.send_data(envelope(&message("a")), true);
            },
            Code::Unknown,
        ),
        (
            "a message, then END_STREAM on an empty frame",
            |request| {
                request.accept();
                request.send_message(&message("a"));
                request.send_data("", true);
            },
            Code::Unknown,
        ),
        (
            "a message, then trailers without grpc-status",
            |request| {
                request.accept();
                request.send_message(&message("a"));
                request.send_trailers(&[("x-other", "1")]);
            },
            Code::Unknown,
        ),
        (
            "headers alone",
            |request| {
                request.send_only_headers(200, &[("content-type", "application/grpc")]);
            },
            Code::Internal,
        ),
        (
            "headers, then END_STREAM on an empty frame",
            |request| {
                request.accept();
                request.send_data("", true);
            },
            Code::Internal,
        ),
    ];
    for (what, answer, want) in cases {
        let status = peer.greeted(answer).await.expect_err(what);
        assert_eq!(status.code(), want, "{what}: {status}");
        assert!(
            status.message().contains("ended without"),
            "{what}: {status}"
        );
        assert!(status.message().contains(&peer.address), "{what}: {status}");
        assert_ne!(status.retry(), Retry::Safe, "{what}");
        let (items, outcome) = peer.streamed(answer).await;
        assert_eq!(outcome.expect_err(what).code(), want, "{what}");
        let had_message = want == Code::Unknown;
        assert_eq!(items.len(), usize::from(had_message), "{what}");
    }
}

#[tokio::test]
async fn a_reset_is_an_error_whatever_came_before() {
    let mut peer = Peer::new("").await;
    for (reason, want) in [
        (code::NO_ERROR, Code::Internal),
        (code::PROTOCOL_ERROR, Code::Internal),
        (code::INTERNAL_ERROR, Code::Internal),
        (code::CANCEL, Code::Canceled),
        (code::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
    ] {
        let status = peer.greeted(|request| request.send_reset(reason)).await;
        let status = status.expect_err("it was reset");
        assert_eq!(
            (status.code(), status.origin()),
            (want, Origin::Transport),
            "{status}"
        );

        let call = async {
            let mut stream = many(&peer.stub, "x")
                .await
                .expect("headers came")
                .into_message();
            let first = stream.message().await.expect("an item came");
            assert_eq!(first.as_deref(), Some("a"));
            stream.message().await.expect_err("it was reset")
        };
        let answered = async {
            let mut request = peer.connection.request().await;
            request.accept();
            request.send_message(&message("a"));
            let reset = Frame::reset(request.stream(), reason);
            // After the message has gone out.
            tokio::task::yield_now().await;
            peer.connection.insert(&reset);
            request
        };
        let (status, _request) = tokio::join!(soon("an error", call), answered);
        assert_eq!(status.code(), want, "{status}");
    }
}

#[tokio::test]
async fn a_unary_answer_has_exactly_one_message() {
    let mut peer = Peer::new("").await;
    let status = peer
        .greeted(|request| {
            request.accept();
            request.finish("0");
        })
        .await
        .expect_err("no message");
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("no message"), "{status}");

    let only_headers = [("content-type", "application/grpc"), ("grpc-status", "0")];
    let status = peer
        .greeted(|request| request.send_only_headers(200, &only_headers))
        .await
        .expect_err("no message");
    assert_eq!(status.code(), Code::Unimplemented);

    let status = peer
        .greeted(|request| {
            request.accept();
            request.send_message(&message("a"));
            request.send_message(&message("b"));
            request.finish("0");
        })
        .await
        .expect_err("two messages");
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("more than one"), "{status}");

    // The status counts more than the message before it.
    let status = peer
        .greeted(|request| {
            request.accept();
            request.send_message(&message("a"));
            request.send_trailers(&[("grpc-status", "9"), ("grpc-message", "no")]);
        })
        .await
        .expect_err("it failed");
    assert_eq!(
        (status.code(), status.message()),
        (Code::FailedPrecondition, "no")
    );
}

#[tokio::test]
async fn messages_come_however_their_bytes_are_cut() {
    let mut peer = Peer::new("").await;
    let words: Vec<_> = (0..200).map(|number| format!("m{number}")).collect();
    let all: Vec<u8> = words
        .iter()
        .flat_map(|word| envelope(&message(word)))
        .collect();

    let (items, outcome) = peer
        .streamed(|request| {
            request.accept();
            request.send_data(all.clone(), false);
            request.finish("0");
        })
        .await;
    assert_eq!(
        (items, outcome.is_ok()),
        (words.clone(), true),
        "in one frame"
    );

    let (items, outcome) = peer
        .streamed(|request| {
            request.accept();
            for byte in &all[..64] {
                request.send_data(vec![*byte], false);
                request.send_data("", false);
            }
            request.send_data(all[64..].to_vec(), false);
            request.finish("0");
        })
        .await;
    assert_eq!((items, outcome.is_ok()), (words, true), "byte by byte");

    let (items, outcome) = peer
        .streamed(|request| {
            request.accept();
            request.send_data(vec![0, 0, 0, 0, 9, 1], false);
            request.finish("0");
        })
        .await;
    assert!(items.is_empty());
    let status = outcome.expect_err("it ended within a message");
    assert!(status.message().contains("1 of the 9 bytes"), "{status}");
}

#[tokio::test]
async fn a_stream_that_is_over_with_its_headers_is_an_empty_one() {
    let mut peer = Peer::new("").await;
    let headers = [
        ("content-type", "application/grpc"),
        ("grpc-status", "0"),
        ("x-t", "1"),
    ];
    let call = async {
        let mut stream = many(&peer.stub, "x")
            .await
            .expect("it worked")
            .into_message();
        assert_eq!(stream.message().await.expect("it worked"), None);
        stream
            .trailers()
            .and_then(|trailers| trailers.get("x-t"))
            .map(str::to_owned)
    };
    let answered = async {
        let mut request = peer.connection.request().await;
        request.send_only_headers(200, &headers);
    };
    let (trailer, ()) = tokio::join!(soon("the end", call), answered);
    assert_eq!(trailer.as_deref(), Some("1"));
}

#[tokio::test]
async fn business_errors_are_told_apart_from_accidents() {
    let mut peer = Peer::new("").await;
    for (headers, trailers, code, origin) in [
        (
            &[][..],
            &[("grpc-status", "17")][..],
            Code::Business,
            Origin::Business,
        ),
        (
            &[("tri-exception-code", "3")],
            &[("grpc-status", "2")],
            Code::Unknown,
            Origin::Business,
        ),
        (&[], &[("grpc-status", "2")], Code::Unknown, Origin::Remote),
        (
            &[("tri-exception-code", "0")],
            &[("grpc-status", "2")],
            Code::Unknown,
            Origin::Remote,
        ),
        // An exception of Dubbo Java, as an object that is no protobuf message.
        (
            &[("tri-exception-code", "3")],
            &[("grpc-status", "0")],
            Code::Unknown,
            Origin::Business,
        ),
    ] {
        let status = peer
            .greeted(|request| {
                let all = [&[("content-type", "application/grpc")], headers].concat();
                request.send_headers(200, &all);
                if trailers[0].1 == "0" {
                    request.send_message(b"C\x1ajava.lang.RuntimeException");
                }
                request.send_trailers(trailers);
            })
            .await
            .expect_err("it failed");
        assert_eq!(
            (status.code(), status.origin()),
            (code, origin),
            "{headers:?} {trailers:?}"
        );
    }
}

#[tokio::test]
async fn what_is_received_is_limited_before_it_is_stored() {
    let mut peer = Peer::new("max-call-recv-msg-size=100").await;
    let fits = "x".repeat(98);
    let reply = peer.greeted(|request| request.reply(&message(&fits))).await;
    assert_eq!(reply.expect("it fits"), fits);

    let status = peer
        .greeted(|request| {
            request.accept();
            // The message itself never comes.
            request.send_data(vec![0, 0x7f, 0xff, 0xff, 0xff], false);
        })
        .await
        .expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted);
    for part in [
        "2147483647",
        "limit of 100",
        "greet.Greeter/Greet",
        &peer.address,
    ] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
}

#[tokio::test]
async fn gzip_is_read_and_other_compressions_are_refused() {
    /// `gzip -n` of the message "hello dubbo".
    const PACKED: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0x0d, 0, 0xf2, 0xff, 0x0a, 0x0b, b'h', b'e',
        b'l', b'l', b'o', b' ', b'd', b'u', b'b', b'b', b'o', 0x1c, 0x29, 0xe7, 0x2f, 0x0d, 0, 0,
        0,
    ];
    let mut peer = Peer::new("").await;
    let mut packed = envelope(PACKED).to_vec();
    packed[0] = 1;
    let answer = |encoding: &'static str| {
        let packed = packed.clone();
        move |request: &mut Request| {
            let headers = [
                ("content-type", "application/grpc"),
                ("grpc-encoding", encoding),
            ];
            request.send_headers(200, &headers);
            request.send_data(packed, false);
            request.finish("0");
        }
    };
    assert_eq!(
        peer.greeted(answer("gzip")).await.expect("it is read"),
        "hello dubbo"
    );
    let status = peer.greeted(answer("zstd")).await.expect_err("unknown");
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("zstd"), "{status}");
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_the_peers_fault() {
    let mut peer = Peer::new("").await;
    for (encoding, bytes, want) in [
        ("identity", [1, 0, 0, 0, 1, 0], "name no compression"),
        ("gzip", [1, 0, 0, 0, 1, 0], "no gzip"),
        ("identity", [0, 0, 0, 0, 9, 0], "after 1 of the 9 bytes"),
    ] {
        let answer = |request: &mut Request| {
            let headers = [
                ("content-type", "application/grpc"),
                ("grpc-encoding", encoding),
            ];
            request.send_headers(200, &headers);
            request.send_data(bytes.to_vec(), false);
            request.finish("0");
        };
        let status = peer.greeted(answer).await.expect_err("broken");
        assert_eq!(
            (status.code(), status.origin()),
            (Code::Internal, Origin::Transport)
        );
        assert!(status.message().contains(want), "{status}");
    }
}

/// The outcome of a call that is answered by `headers`, as they are written here.
async fn answered_by(peer: &mut Peer, headers: &[(&str, &[u8])]) -> Status {
    let call = async { greet(&peer.stub, "x").await };
    let answered = async {
        let request = peer.connection.request().await;
        let frame = Frame::headers(request.stream(), headers, true);
        peer.connection.insert(&frame);
        request
    };
    let (reply, _request) = tokio::join!(soon("an answer", call), answered);
    reply.expect_err("it failed")
}

#[tokio::test]
async fn the_text_of_a_java_exception_is_read_as_it_is() {
    let mut peer = Peer::new("").await;
    for (raw, want) in [
        (
            &b"NOT_FOUND : line\nbreak\r\n"[..],
            "NOT_FOUND : line break",
        ),
        (b"caf\xe9", "caf\u{e9}"),
        (b"50% +x ?", "50% +x ?"),
    ] {
        let status = answered_by(
            &mut peer,
            &[
                (":status", b"500"),
                ("content-type", b"application/grpc"),
                ("grpc-status", b"5"),
                ("grpc-message", raw),
            ],
        )
        .await;
        assert_eq!(
            (status.code(), status.message().trim_end()),
            (Code::NotFound, want)
        );
    }
    // All on one connection.
    let reply = peer.greeted(|request| request.reply(&message("b"))).await;
    assert_eq!(reply.expect("the connection goes on"), "b");
}

#[tokio::test]
async fn headers_that_http_forbids_are_the_peers_fault() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let mut peer = Peer {
        stub: stub(&protocol, server.address(), "").await,
        connection: server.accept().await,
        _protocol: protocol,
        address: server.address().to_string(),
    };
    let status = answered_by(&mut peer, &[(":status", b"200"), ("X-Upper", b"1")]).await;
    assert_eq!(
        (status.code(), status.origin()),
        (Code::Internal, Origin::Transport),
        "{status}"
    );
    assert!(
        status.message().contains("broke the rules of HTTP/2"),
        "{status}"
    );

    let call = async { greet(&peer.stub, "x").await };
    let answered = async {
        let mut connection = server.accept().await;
        connection.request().await.reply(&message("b"));
        connection
    };
    let (reply, _connection) = tokio::join!(soon("an answer", call), answered);
    assert_eq!(reply.expect("the next connection is good").message(), "b");
}

#[tokio::test]
async fn headers_and_trailers_of_a_success_are_attachments() {
    let mut peer = Peer::new("").await;
    let call = async { greet(&peer.stub, "x").await };
    let answered = async {
        let mut request = peer.connection.request().await;
        let headers = [
            ("content-type", "application/grpc"),
            ("x-h", "1"),
            ("te", "trailers"),
        ];
        request.send_headers(200, &headers);
        request.send_message(&message("a"));
        request.send_trailers(&[
            ("grpc-status", "0"),
            ("grpc-message", ""),
            ("x-t", "2"),
            ("x-t", "3"),
            ("blob-bin", "AAE"),
        ]);
    };
    let (reply, ()) = tokio::join!(soon("an answer", call), answered);
    let reply = reply.expect("it worked");
    assert_eq!(reply.headers().get("x-h"), Some("1"));
    assert_eq!(reply.headers().get("te"), None);
    assert_eq!(reply.trailers().all("x-t").collect::<Vec<_>>(), ["2", "3"]);
    assert_eq!(
        reply.trailers().get_bin("blob").as_deref(),
        Some(&[0, 1][..])
    );
    assert_eq!(reply.trailers().get("grpc-status"), None);
}
