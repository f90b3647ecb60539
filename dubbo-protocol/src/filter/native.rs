use std::sync::Arc;

use dubbo_core::{
    extension,
    filter::{Filter, Next},
    invocation::Invocation,
};

use super::Calling;

/// The name of something that every service or protocol does by itself, so that lists of other implementations can stay as
/// they are: `$invoke` is answered behind the filters of each service, and what a provider says of its end is heard by the
/// connection to it.
struct Native;

impl Filter for Native {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        next.run(invocation)
    }
}

extension!(
    dyn Filter,
    "generic" | "generic_service" | "genericimpl",
    |_cx| Ok(Arc::new(Native))
);

extension!(dyn Filter, "cshutdown", |_cx| Ok(Arc::new(Native)));
