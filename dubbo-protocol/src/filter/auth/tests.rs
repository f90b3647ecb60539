use std::sync::Arc;

use dubbo_core::{
    invocation::Invocation,
    service::ServiceKey,
    status::{Code, Status},
};

use super::{
    sign::now_millis,
    signature::{Alphabet, Signature},
};
use crate::filter::tests::rig::{Provider, invocation_of};

const JAVA: &str = "R2XZ6dFc/lNDBhUT+AWE8skT8468sXvXOIRwgoHbHb0=";
const GO: &str = "R2XZ6dFc_lNDBhUT-AWE8skT8468sXvXOIRwgoHbHb0=";
const KEYS: &str = "auth=true&.accessKeyId=ak1&.secretAccessKey=sk";

fn golden() -> Signature {
    let service = ServiceKey::new("com.foo.Bar")
        .with_version("1.0.0")
        .with_group("g1");
    Signature::of(&service, "hello", "sk", "1700000000002")
}

#[test]
fn cluster_t40_golden_signatures_verify_in_both_alphabets_and_one_flipped_byte_fails() {
    let golden = golden();
    assert_eq!(golden.written_in(Alphabet::Standard), JAVA);
    assert_eq!(golden.written_in(Alphabet::UrlSafe), GO);
    for text in [JAVA, GO] {
        assert!(golden.is(text), "{text}");
        assert!(golden.is(text.trim_end_matches('=')), "{text}");
        for at in 0..text.len() - 1 {
            let mut flipped = text.as_bytes().to_vec();
            flipped[at] = if flipped[at] == b'A' { b'Q' } else { b'A' };
            let flipped = String::from_utf8(flipped).expect("ASCII");
            assert!(!golden.is(&flipped), "{flipped}");
        }
        assert!(!golden.is(&text[..40]) && !golden.is("") && !golden.is("?"));
    }
}

/// What a consumer with these parameters sends.
async fn signed(params: &str) -> Invocation {
    let provider = Provider::echoing();
    let chain = provider.chain_of("sign", &format!("side=consumer&{params}"));
    chain.invoke(invocation_of("Greet")).await.expect("works");
    let mut call = invocation_of("Greet");
    call.attachments = provider.last_attachments();
    call
}

async fn verified(params: &str, call: Invocation) -> Result<(), Status> {
    let provider = Provider::echoing();
    provider.chain("auth", params).invoke(call).await.map(drop)
}

#[tokio::test]
async fn what_a_consumer_signs_its_provider_takes_and_nothing_else() {
    let call = signed(&format!("{KEYS}&application=shop")).await;
    assert_eq!(call.attachments.get("ak"), Some("ak1"));
    assert_eq!(call.attachments.get("consumer"), Some("shop"));
    assert!(!format!("{:?}", call.attachments).contains("\"sk\""));
    verified(KEYS, call).await.expect("it is right");

    let of_go = signed(&format!("{KEYS}&release=dubbo-golang-3.3.2")).await;
    let signature = of_go.attachments.get("signature").unwrap_or_default();
    assert!(!signature.contains(['+', '/']), "{signature}");
    verified(KEYS, of_go)
        .await
        .expect("it is right in this alphabet, too");

    for (wrong, want) in [
        ("signature", "`signature` of a signed call is missing"),
        ("timestamp", "`timestamp` of a signed call is missing"),
        ("ak", "`ak` of a signed call is missing"),
    ] {
        let mut call = signed(KEYS).await;
        call.attachments.remove(wrong);
        let status = verified(KEYS, call).await.expect_err(wrong);
        assert_eq!(status.code(), Code::Unauthenticated);
        assert!(status.message().contains(want), "{status}");
    }
    let mut other = signed(KEYS).await;
    other.method = invocation_of("Find").method;
    let status = verified(KEYS, other)
        .await
        .expect_err("it is of another method");
    assert!(
        status
            .message()
            .ends_with("the signature is not that of this call"),
        "{status}"
    );
    let secret = "auth=true&.accessKeyId=ak1&.secretAccessKey=other";
    verified(secret, signed(KEYS).await)
        .await
        .expect_err("it is of another secret");
    let none = "auth=true";
    let status = verified(none, signed(KEYS).await)
        .await
        .expect_err("no key");
    assert!(
        status
            .message()
            .ends_with("no such access key is known here"),
        "{status}"
    );
}

#[tokio::test]
async fn old_signatures_and_copies_are_refused() {
    let hour = 3_600_000;
    let at = |millis: u64| {
        let mut call = invocation_of("Greet");
        let signature = Signature::of(&call.service, "Greet", "sk", &millis.to_string());
        call.attachments
            .insert("signature", signature.written_in(Alphabet::Standard));
        call.attachments.insert("timestamp", millis.to_string());
        call.attachments.insert("ak", "ak1");
        call
    };
    let now = now_millis();
    for (signed, params, want) in [
        (now, "", true),
        (now - hour, "", false),
        (now + hour, "", false),
        (now - hour, "&auth.max-skew=2h", true),
        (now - hour, "&auth.max-skew=0", true),
    ] {
        let verified = verified(&format!("{KEYS}{params}"), at(signed)).await;
        assert_eq!(verified.is_ok(), want, "{params}: {verified:?}");
    }

    let provider = Provider::echoing();
    let chain = provider.chain("auth", &format!("{KEYS}&auth.nonce-cache=8"));
    chain.invoke(at(now)).await.expect("it is new");
    let copy = chain.invoke(at(now)).await.expect_err("it is a copy");
    assert!(copy.message().ends_with("it has come before"), "{copy}");
    let again = provider.chain("auth", &format!("{KEYS}&auth.nonce-cache=8"));
    again
        .invoke(at(now))
        .await
        .expect_err("another chain of the service knows it, too");

    // Each signature of one consumer has its own time.
    let consumer = Arc::new(Provider::echoing());
    let sign = consumer.chain_of("sign", &format!("side=consumer&{KEYS}"));
    for _ in 0..20 {
        sign.invoke(invocation_of("Greet")).await.expect("works");
        let mut call = invocation_of("Greet");
        call.attachments = consumer.last_attachments();
        // Eight are remembered, and all are different.
        chain.invoke(call).await.expect("it is new");
    }
}

#[test]
fn what_cannot_be_signed_is_an_error_of_the_start() {
    let provider = Provider::echoing();
    for (filter, params, want) in [
        ("sign", "auth=true", "no key to sign with"),
        ("sign", "auth=perhaps", "auth"),
        (
            "auth",
            "auth=true&authenticator=basic",
            "a password that is sent along",
        ),
        (
            "auth",
            "auth=true&authenticator=mine",
            "no `authenticator` is called `mine`",
        ),
        (
            "auth",
            "auth=true&param.sign=true",
            "arguments cannot be signed",
        ),
        (
            "auth",
            "auth=true&accessKey.storage=vault",
            "no access key storage is called `vault`",
        ),
        ("auth", "auth=true&auth.max-skew=never", "auth.max-skew"),
    ] {
        let error = provider.try_chain(filter, params).err().expect("refused");
        assert!(error.to_string().contains(want), "{params}: {error}");
    }
}
