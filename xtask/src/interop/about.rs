//! What each case is about, in a few words for users.

/// Of the case `name`; empty when its name says it all.
pub(super) fn about(name: &str) -> &'static str {
    let found = ABOUT
        .iter()
        .find(|(start, _)| match start.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *start,
        });
    found.map_or("", |(_, text)| text)
}

const ABOUT: &[(&str, &str)] = &[
    ("greet", "a call"),
    ("greet_empty", "empty messages"),
    ("greet_unicode", "text beyond ASCII"),
    ("echo_all", "every kind of field"),
    ("echo_zero", "no field set"),
    ("big_2m", "2 MiB each way"),
    ("big_request_over", "a request of 5 MiB"),
    ("big_response_over", "a response of 5 MiB"),
    ("gzip", "a compressed call"),
    ("gzip_big", "2 MiB each way, compressed"),
    ("server_stream", "three answers"),
    ("server_stream_none", "no answer"),
    ("server_stream_fail_first", "an error after two answers"),
    ("server_stream_many", "2,000 answers"),
    ("client_stream", "three requests"),
    ("client_stream_none", "no request"),
    ("client_stream_fail", "an error amid the requests"),
    ("client_stream_many", "500 requests"),
    ("bidi", "three requests, answered one by one"),
    ("bidi_none", "nothing either way"),
    ("bidi_fail", "an error after an answer"),
    ("bidi_many", "500 requests, answered one by one"),
    ("fail_plain", "an application's error"),
    (
        "fail_plain_percent",
        "its text: `%`, `+`, newline, beyond ASCII",
    ),
    ("fail_plain_empty", "its text: none"),
    ("fail_panic", "a handler that panics"),
    ("fail_code_*", "a status of this code"),
    ("fail_details_*", "the same with two details"),
    ("fail_context", "a handler that ends with its deadline"),
    ("sleep_ok", "a slow answer in time"),
    ("sleep_timeout", "the timeout of the reference"),
    ("sleep_call_timeout", "the timeout of a call"),
    ("sleep_ctx_deadline", "the deadline of a call"),
    ("stream_ctx_deadline", "the deadline of a stream"),
    ("cancel", "a call is cancelled"),
    ("cancel_stream", "amid the answers"),
    ("cancel_client_stream", "amid the requests"),
    ("cancel_bidi", "amid both"),
    ("unknown_method", "the service has no such method"),
    ("unknown_service", "nobody has such a service"),
    ("method_case_lower", "`Greet` called as `greet`"),
    ("method_case_upper", "`lowerCase` called as `LowerCase`"),
    ("method_case_exact", "`lowerCase` called by its name"),
    ("method_case_wrong", "`Greet` called as `GREET`"),
    ("group_version", "the service of a group and version"),
    ("group_wrong_version", "the right group, another version"),
    ("group_without_version", "the right group, no version"),
    ("wrong_version", "another version"),
    ("wrong_group", "another group"),
    (
        "attachments_map",
        "attachments both ways: text, binary, several values",
    ),
    ("attachments_header", "in the response headers"),
    ("attachments_nonascii", "values beyond ASCII"),
    ("attachments_newline", "a value that no header can have"),
    (
        "server_stream_attachments",
        "both ways with a server stream",
    ),
    (
        "client_stream_attachments",
        "both ways with a client stream",
    ),
    ("bidi_attachments", "both ways with a two-way stream"),
    ("health_check", "health of the server"),
    ("health_check_service", "of a service"),
    ("health_check_group", "of a service of a group"),
    ("health_check_unknown", "of no service"),
    ("health_watch", "watching a service"),
    ("health_watch_unknown", "watching no service"),
    ("user_get", "a bean as result"),
    ("user_get_many", "`List<User>`, from a `List<String>`"),
    ("user_get_map", "`Map<String, User>`, from a `List<String>`"),
    ("user_echo", "a bean each way"),
    ("user_null", "null each way"),
    ("user_cycle", "a bean that refers to itself"),
    ("user_bag", "a bean of collections"),
    ("user_hello", "text beyond ASCII"),
    ("user_nothing", "null as result"),
    ("user_void", "a method without result"),
    ("user_mix", "three arguments"),
    ("user_mix_null", "three arguments, one null"),
    ("user_no_args", "no argument"),
    ("user_async", "a method that answers later"),
    ("user_oneway", "a call that wants no answer"),
    ("user_decimal", "`BigDecimal`"),
    ("user_integer", "`BigInteger`"),
    ("user_ping", "`byte[]`"),
    ("user_big_900k", "900,000 bytes each way"),
    ("user_big_2m", "2 MiB each way"),
    ("user_service_echo", "`$echo`"),
    ("user_timeout", "the timeout of the reference"),
    (
        "user_after_timeout",
        "the next call, when the late answer has come",
    ),
    ("user_graph", "beans that refer to each other"),
    ("user_child", "an inherited field of the same name"),
    (
        "user_result",
        "generic beans: `Result<User>`, `Result<Long>`",
    ),
    ("user_three", "three arguments, without and with nulls"),
    ("user_overload", "three methods of one name"),
    ("user_scalars", "every primitive as argument and result"),
    (
        "user_boxed",
        "boxed values, text, bytes, dates, enums; null, too",
    ),
    ("user_times", "`java.time`, `UUID`"),
    (
        "user_collections",
        "`List`, `Map`, `Set`, with and without element types",
    ),
    ("user_arrays", "arrays of primitives, text, objects, beans"),
    ("user_group_version", "the service of a group and version"),
    ("user_wrong_version", "another version"),
    ("user_wrong_group", "another group"),
    ("user_unknown_method", "the service has no such method"),
    ("user_unknown_service", "nobody has such a service"),
    ("user_wrong_arguments", "an argument too many"),
    ("user_wrong_type", "an `int` where the method has text"),
    ("user_attachments", "attachments both ways"),
    ("user_attachments_nonascii", "values beyond ASCII"),
    (
        "user_attachments_object",
        "values that are no text: int, boolean, list",
    ),
    ("user_server_stream", "three answers"),
    ("user_server_stream_fail", "an exception after an answer"),
    ("user_bidi", "three requests, answered one by one"),
    ("echo_bool", "`boolean` as `Object`"),
    ("echo_int", "`int` at the limits of every form"),
    ("echo_long", "`long` at the limits of every form"),
    (
        "echo_double",
        "`double` at the limits of every form, infinity, not a number",
    ),
    (
        "echo_string",
        "text at the limits of every form, surrogates, 70,000 characters",
    ),
    (
        "echo_bytes",
        "bytes at the limits of every form, 70,000 bytes",
    ),
    ("echo_date", "`java.util.Date`"),
    ("echo_enum", "an enum"),
    ("echo_bean", "a bean"),
    ("echo_list", "lists: empty, mixed, nested, long"),
    ("echo_list_of_beans", "a list of beans"),
    ("echo_shared", "a bean that is there twice, and is one"),
    ("echo_map", "maps: empty, of several types"),
    ("echo_map_null_key", "a map with the key null"),
    ("echo_set", "`java.util.HashSet`"),
    ("echo_array", "arrays"),
    ("echo_array_null", "an array of text with a null"),
    ("echo_collection", "`LinkedList`, `TreeMap`"),
    ("echo_big_number", "`BigDecimal`, `BigInteger`"),
    ("echo_time", "`java.time`"),
    ("echo_uuid", "`UUID`"),
    (
        "echo_unknown_class",
        "an object whose class the provider does not know",
    ),
    ("echo_null", "null"),
    ("error_plain", "the language's plain error"),
    ("error_text", "its text: `%`, `+`, newline, beyond ASCII"),
    ("error_status", "a status"),
    ("error_checked", "a checked exception of the application"),
    ("error_runtime", "an unchecked exception of Java's"),
    ("error_cause", "an exception that has a cause"),
    ("error_null_message", "an exception without a text"),
    ("generic_hello", "a call without the interface"),
    ("generic_user", "a bean as result"),
    (
        "generic_bean_argument",
        "a bean as argument, its enum by name",
    ),
    ("generic_list", "a list of beans"),
    ("generic_null", "null as result"),
    ("generic_overload", "three methods of one name"),
    ("generic_no_types", "without the types of the arguments"),
    ("generic_async", "`$invokeAsync`"),
    ("generic_typed", "the result as a type of the caller's"),
    ("generic_json", "arguments and result as JSON"),
    ("generic_error", "the language's plain error"),
    (
        "generic_error_checked",
        "a checked exception of the application",
    ),
    ("generic_unknown_method", "the service has no such method"),
    ("heartbeat", "an idle connection is kept up from both sides"),
    (
        "shutdown_inflight",
        "a provider stops: a call under way ends well, a new one is refused",
    ),
    ("shutdown_exit", "it ends when its calls have"),
    ("shutdown_after", "calls while it is gone"),
    ("shutdown_reconnect", "calls when another one has its place"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::cases;

    #[test]
    fn every_case_is_described_and_nothing_else() {
        let cases = cases::all();
        for case in &cases {
            assert!(!about(&case.name).is_empty(), "{}", case.name);
        }
        for (start, _) in ABOUT {
            let start = start.trim_end_matches('*');
            assert!(
                cases.iter().any(|case| case.name.starts_with(start)),
                "{start}"
            );
        }
    }
}
