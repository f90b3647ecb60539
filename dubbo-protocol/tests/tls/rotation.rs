//! Files that are replaced while both sides run.

use dubbo_test::{
    certificates::{Authority, Installed},
    soon,
};

use crate::support::{
    Provider, certificate, greet, mutual, one_way, shake_hands, shown, stub, triple,
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
    let client = Installed::new(&[&old], &old.issue(&["client"]));
    let server = Installed::new(&[&old], &old.issue(&["127.0.0.1"]));
    let provider = Provider::new(mutual(&server)).await;
    let consumer = triple(mutual(&client));
    let connected = stub(&*consumer, provider.address, "").await;
    greet(&connected).await.expect("it works");
    let of_old = Installed::new(&[&old, &new], &old.issue(&["veteran"]));
    let of_new = Installed::new(&[&old, &new], &new.issue(&["newcomer"]));
    assert!(let_in(&provider, &of_old).await.is_some());
    assert!(let_in(&provider, &of_new).await.is_none());

    server.trust(&[&old, &new]);
    client.trust(&[&old, &new]);
    soon("the provider trusts both", async {
        while let_in(&provider, &of_new).await.is_none() {}
    })
    .await;
    assert!(let_in(&provider, &of_old).await.is_some());

    let shows = new.issue(&["127.0.0.1"]);
    server.show(&shows);
    client.show(&new.issue(&["client"]));
    let shows = certificate(&shows.cert);
    soon("the provider shows its new certificate", async {
        while let_in(&provider, &of_new).await.as_ref() != Some(&shows) {}
    })
    .await;

    server.trust(&[&new]);
    client.trust(&[&new]);
    soon("the provider trusts the new one alone", async {
        while let_in(&provider, &of_old).await.is_some() {}
    })
    .await;
    greet(&connected).await.expect("it goes on");
    soon("the consumer shows its new certificate", async {
        for number in 1.. {
            // Each has a connection of its own.
            let query = format!("keep-alive-interval={number}m");
            let stub = stub(&*consumer, provider.address, &query).await;
            match greet(&stub).await {
                Ok(_) => return,
                Err(status) => assert!(status.message().contains("authority"), "{status}"),
            }
        }
    })
    .await;
}

/// The certificate that `provider` shows to who has `installed`, if it answers a request of theirs: with TLS 1.3 it refuses
/// them after they have shaken hands.
async fn let_in(provider: &Provider, installed: &Installed) -> Option<Vec<u8>> {
    let ca = installed.ca();
    let stream = shake_hands(provider.address, &ca, Some(installed), &["h2"]).await;
    let stream = stream.ok()?;
    let shown = shown(&stream);
    let (mut send, connection) = h2::client::handshake(stream).await.ok()?;
    let request = http::Request::get("https://x/").body(()).expect("legal");
    let (response, _) = send.send_request(request, true).ok()?;
    tokio::select! {
        response = response => response.is_ok().then_some(shown),
        _ = connection => None,
    }
}
