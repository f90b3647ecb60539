//! Triple does what every protocol does.

use std::sync::Arc;

use dubbo_protocol::TripleProtocol;
use dubbo_test::{protocol_suite, suite::protocol::Subject};

protocol_suite!(Subject::new(
    || Arc::new(TripleProtocol::default()),
    "tri://127.0.0.1:0"
));
