//! Compressed calls of the protobuf service: those of Dubbo's peers are its own recordings.

use serde_json::json;

use super::{Case, case};
use crate::interop::expect::gives;

pub(super) fn cases() -> Vec<Case> {
    let big = json!({"received": 2 << 20, "as_asked": true});
    vec![
        case("gzip", gives("hello dubbo")).grpc(),
        case("gzip_big", gives(big)).grpc(),
    ]
}
