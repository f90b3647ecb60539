//! Files that are replaced while both sides run.

use dubbo_test::{
    certificates::{Authority, Installed},
    soon,
};

use crate::support::{
    Provider, certificate, greet, mutual, one_way, refusal, shake_hands, shown, stub, triple,
};

#[tokio::test]
async fn a_renewed_certificate_is_shown_in_new_handshakes_and_old_connections_stay() {
    let authority = Authority::new();
    let first = authority.issue(&["127.0.0.1"]);
    let server = Installed::new(&[&authority], &first);
    let provider = Provider::new(one_way(&server)).await;
    let mut client = mutual(&server);
    (client.cert, client.key) = (None, None);
    let client = triple(client);
    let old = stub(&*client, provider.address, "").await;
    assert_eq!(greet(&old).await.expect("it works"), "hello x");
    let ca = authority.file();
    let now = async || {
        let stream = shake_hands(provider.address, &ca, None, &["h2"]).await;
        shown(&stream.expect("a handshake never fails meanwhile"))
    };
    assert_eq!(now().await, certificate(&first.cert));

    let second = authority.issue(&["127.0.0.1"]);
    server.show(&second);
    soon("the new certificate", async {
        while now().await != certificate(&second.cert) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(greet(&old).await.expect("it goes on"), "hello x");
    let new = stub(&*client, provider.address, "keep-alive-interval=1m").await;
    assert_eq!(greet(&new).await.expect("it works"), "hello x");
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing() {
    let authority = Authority::new();
    let first = authority.issue(&["127.0.0.1"]);
    let server = Installed::new(&[&authority], &first);
    let provider = Provider::new(one_way(&server)).await;
    let ca = authority.file();
    let now = async || {
        let stream = shake_hands(provider.address, &ca, None, &[]).await;
        shown(&stream.expect("a handshake never fails meanwhile"))
    };
    // The key stays that of another.
    let second = authority.issue(&["127.0.0.1"]);
    server.put(
        &server.cert(),
        &std::fs::read(&second.cert).expect("it is there"),
    );
    let begun = tokio::time::Instant::now();
    while begun.elapsed().as_millis() < 2_500 {
        assert_eq!(now().await, certificate(&first.cert));
    }
    server.show(&second);
    soon("the new certificate", async {
        while now().await != certificate(&second.cert) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A consumer and a provider move from one authority to another without a failed call, as operators do it: first both are
/// trusted, then the certificates change, then the old one is trusted no more.
#[tokio::test]
async fn both_sides_move_to_another_authority() {
    let (old, new) = (Authority::new(), Authority::new());
    let (ours, theirs) = (old.issue(&["client"]), old.issue(&["127.0.0.1"]));
    let client = Installed::new(&[&old], &ours);
    let server = Installed::new(&[&old], &theirs);
    let provider = Provider::new(mutual(&server)).await;
    let consumer = triple(mutual(&client));
    let old_stub = stub(&*consumer, provider.address, "").await;
    greet(&old_stub).await.expect("it works");
    // Who shows this is known to the new authority alone.
    let stranger = Installed::new(&[&old, &new], &new.issue(&["stranger"]));
    let is_let_in = async || {
        let ca = stranger.ca();
        let Ok(stream) = shake_hands(provider.address, &ca, Some(&stranger), &["h2"]).await else {
            return false;
        };
        // A server of TLS 1.3 refuses after the handshake, to who tries to speak.
        h2_works(stream).await
    };
    assert!(!is_let_in().await);

    server.trust(&[&old, &new]);
    client.trust(&[&old, &new]);
    soon("both trust the new authority", async {
        while !is_let_in().await {
            tokio::task::yield_now().await;
        }
    })
    .await;

    let moved = (new.issue(&["client"]), new.issue(&["127.0.0.1"]));
    server.show(&moved.1);
    client.show(&moved.0);
    let ca = stranger.ca();
    soon("the new certificate", async {
        loop {
            let stream = shake_hands(provider.address, &ca, Some(&stranger), &["h2"]).await;
            if shown(&stream.expect("it is let in")) == certificate(&moved.1.cert) {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.trust(&[&new]);
    client.trust(&[&new]);
    let veteran = Installed::new(&[&new], &ours);
    soon("the old authority is trusted no more", async {
        loop {
            let ca = veteran.ca();
            let stream = shake_hands(provider.address, &ca, Some(&veteran), &["h2"]).await;
            match stream {
                Ok(stream) if h2_works(stream).await => tokio::task::yield_now().await,
                _ => return,
            }
        }
    })
    .await;

    greet(&old_stub).await.expect("it is connected");
    let mut connection = 0;
    soon("the consumer has read its files too", async {
        loop {
            connection += 1;
            let query = format!("keep-alive-interval={}m", connection);
            let stub = stub(&*consumer, provider.address, &query).await;
            if greet(&stub).await.is_ok() {
                return;
            }
            let why = refusal(&stub).await;
            assert!(why.contains("authority"), "{why}");
        }
    })
    .await;
}

/// Whether a server answers the preface of HTTP/2.
async fn h2_works(stream: tokio_rustls::client::TlsStream<tokio::net::TcpStream>) -> bool {
    let Ok((mut send, connection)) = h2::client::handshake::<_, bytes::Bytes>(stream).await else {
        return false;
    };
    let mut connection = std::pin::pin!(connection);
    let request = http::Request::get("https://x/").body(()).expect("legal");
    let Ok((response, _)) = send.send_request(request, true) else {
        return false;
    };
    tokio::select! {
        response = response => response.is_ok(),
        _ = &mut connection => false,
    }
}
