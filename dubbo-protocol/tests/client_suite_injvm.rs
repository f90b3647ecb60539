//! `injvm` does what every protocol does.

use std::sync::Arc;

use dubbo_protocol::Injvm;
use dubbo_test::{protocol_suite, suite::protocol::Subject};

protocol_suite!(Subject::new(
    || Arc::new(Injvm::default()),
    "injvm://127.0.0.1"
));
