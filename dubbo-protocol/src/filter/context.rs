use std::{sync::Arc, time::Duration};

use dubbo_core::{
    attachments::Attachments,
    extension,
    filter::{Filter, Next},
    invocation::Invocation,
    status::Status,
};
use tokio::time::{Instant, timeout_at};

use super::{Calling, at_once, called};

/// The last of a provider: takes out what protocols and transports say to each other, so that applications see what
/// applications sent, and pass on nothing else; and ends a call when the countdown of its caller is over.
struct Context;

impl Filter for Context {
    fn invoke<'a, 'n, 'c>(&'a self, mut invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let countdown = countdown(&invocation.attachments);
        strip(&mut invocation.attachments);
        let Some(left) = countdown else {
            return next.run(invocation);
        };
        let own = invocation.deadline;
        let Some(deadline) = Instant::now().checked_add(left) else {
            return next.run(invocation);
        };
        if own.is_some_and(|own| own <= deadline) {
            // The protocol ends it no later.
            return next.run(invocation);
        }
        let what = called(&invocation);
        if left.is_zero() {
            let text = format!("{what}: the caller's countdown was over before it arrived");
            return at_once(Err(Status::deadline_exceeded(text).not_processed()));
        }
        invocation.deadline = Some(deadline);
        Box::pin(async move {
            timeout_at(deadline, next.run(invocation))
                .await
                .unwrap_or_else(|_| {
                    let text =
                        format!("{what}: not done within the {left:?} of the caller's countdown");
                    Err(Status::deadline_exceeded(text))
                })
        })
    }
}

/// What Dubbo Java's consumers count down from hop to hop, in milliseconds. Below 0 it is over; what is no number says
/// nothing.
fn countdown(attachments: &Attachments) -> Option<Duration> {
    let millis: i64 = attachments.get("_TO")?.trim().parse().ok()?;
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

/// Takes out what is not for applications.
pub(super) fn strip(attachments: &mut Attachments) {
    attachments.remove_where(is_hidden);
}

/// Whether Dubbo Java hides an attachment of this name, in any case (`docs/spec/cluster.md` §6.3).
fn is_hidden(name: &str) -> bool {
    let is = |hidden: &&str| hidden.eq_ignore_ascii_case(name);
    name.len() <= LONGEST && HIDDEN.iter().any(is)
}

extension!(dyn Filter, "context", |_cx| Ok(Arc::new(Context)));

const LONGEST: usize = "access-control-request-headers".len();

/// What is Dubbo's own, then what is HTTP's own. Fields that an application may well send, such as `authorization` and
/// `cookie`, are not among them.
const HIDDEN: [&str; 47] = [
    "_to",
    "async",
    "dubbo",
    "dubbo.force.tag",
    "dubbo.tag",
    "group",
    "interface",
    "path",
    "timeout",
    "token",
    "version",
    "accept",
    "accept-charset",
    "accept-datetime",
    "accept-encoding",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "expect",
    "forwarded",
    "from",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "max-forwards",
    "origin",
    "pragma",
    "proxy-authorization",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    #[test]
    fn what_is_of_the_protocols_is_hidden_and_what_applications_send_keeps_its_case() {
        let hidden = HIDDEN.map(|name| (name.to_ascii_uppercase(), "x"));
        let mut all: Attachments = hidden.into_iter().collect();
        for name in [
            "userId",
            "authorization",
            "user-agent",
            "dubbo-request-id",
            "traceparent",
        ] {
            all.append(name, "1");
        }
        strip(&mut all);
        let names: Vec<_> = all.iter().map(|(name, _)| name.into_owned()).collect();
        let want = [
            "userId",
            "authorization",
            "user-agent",
            "dubbo-request-id",
            "traceparent",
        ];
        assert_eq!(names, want);
    }

    #[tokio::test(start_paused = true)]
    async fn a_countdown_ends_a_call_and_never_makes_its_time_longer() {
        let slow = Provider::slow(Duration::from_millis(100));
        let chain = slow.chain("context", "");
        for (countdown, deadline, want) in [
            ("150", None, Ok(100)),
            ("50", None, Err((50, false))),
            ("0", None, Err((0, true))),
            ("-7", None, Err((0, true))),
            ("soon", None, Ok(100)),
            ("", None, Ok(100)),
            ("9223372036854775807", None, Ok(100)),
            // It is for the protocol to end it.
            ("50", Some(20), Ok(100)),
        ] {
            let mut call = invocation();
            call.attachments.insert("_TO", countdown);
            let began = Instant::now();
            call.deadline = deadline.map(|millis| began + Duration::from_millis(millis));
            let got = chain.invoke(call).await;
            let took = began.elapsed().as_millis();
            match (got, want) {
                (Ok(_), Ok(want)) => assert_eq!(took, want, "{countdown}"),
                (Err(status), Err((want, untouched))) => {
                    assert_eq!(took, want, "{countdown}: {status}");
                    assert_eq!(status.is_not_processed(), untouched, "{countdown}");
                }
                (got, want) => panic!("{countdown}: {got:?} instead of {want:?}"),
            }
        }
    }
}
