//! What every [`Protocol`] does.
//!
//! A crate with a protocol runs all of it with [`protocol_suite!`](crate::protocol_suite!), which makes each function
//! of this module a test of its own.

mod calls;
mod ends;
mod rig;
mod services;

use std::sync::Arc;

use dubbo_core::{protocol::Protocol, url::Url};

pub use calls::{
    a_bidi_stream_goes_both_ways_in_turn, a_client_stream_is_answered_once,
    a_failed_stream_gives_its_items_first, a_panic_ends_its_own_call_only,
    a_server_stream_ends_with_its_trailers, a_unary_call_is_answered,
    an_error_keeps_code_text_details_and_trailers, attachments_headers_and_trailers_arrive,
    many_calls_at_once_get_their_own_answers,
};
pub use ends::{
    a_deadline_ends_the_call_and_its_handler, a_failing_stream_of_requests_ends_the_call,
    calls_in_flight_are_counted, dropping_a_call_cancels_its_handler,
    dropping_a_reply_stream_cancels_its_handler, dropping_a_reply_stream_ends_the_requests,
};
pub use services::{
    a_key_is_exported_once, a_shutdown_cuts_what_is_left_at_its_deadline,
    a_shutdown_lets_calls_finish_and_takes_no_new_ones, an_unexported_service_is_called_no_more,
    groups_and_versions_are_services_of_their_own, two_protocols_share_nothing,
};

/// A kind of protocol, and where it can export services.
#[derive(Debug, Clone)]
pub struct Subject {
    make: fn() -> Arc<dyn Protocol>,
    url: Url,
}

impl Subject {
    /// `make` makes a value that shares nothing with others; `url` is that of a provider without an interface, with port
    /// 0 when the protocol has ports.
    pub fn new(make: fn() -> Arc<dyn Protocol>, url: &str) -> Self {
        Self {
            make,
            url: url.parse().expect("the URL of a test is good"),
        }
    }
}

/// Runs the suite on a [`Subject`]: `protocol_suite!(Subject::new(|| Arc::new(Mine::default()), "mine://127.0.0.1:0"))`.
#[macro_export]
macro_rules! protocol_suite {
    ($subject:expr) => {
        $crate::protocol_suite! { @each $subject;
            a_bidi_stream_goes_both_ways_in_turn,
            a_client_stream_is_answered_once,
            a_deadline_ends_the_call_and_its_handler,
            a_failed_stream_gives_its_items_first,
            a_failing_stream_of_requests_ends_the_call,
            a_key_is_exported_once,
            a_panic_ends_its_own_call_only,
            a_server_stream_ends_with_its_trailers,
            a_shutdown_cuts_what_is_left_at_its_deadline,
            a_shutdown_lets_calls_finish_and_takes_no_new_ones,
            a_unary_call_is_answered,
            an_error_keeps_code_text_details_and_trailers,
            an_unexported_service_is_called_no_more,
            attachments_headers_and_trailers_arrive,
            calls_in_flight_are_counted,
            dropping_a_call_cancels_its_handler,
            dropping_a_reply_stream_cancels_its_handler,
            dropping_a_reply_stream_ends_the_requests,
            groups_and_versions_are_services_of_their_own,
            many_calls_at_once_get_their_own_answers,
            two_protocols_share_nothing,
        }
    };
    (@each $subject:expr; $($name:ident,)*) => {
        $(#[tokio::test]
        async fn $name() {
            $crate::suite::protocol::$name($subject).await;
        })*
    };
}
