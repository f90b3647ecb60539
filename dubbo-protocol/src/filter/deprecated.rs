use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dubbo_core::{
    extension,
    extension::BoxError,
    filter::{Filter, Next},
    invocation::Invocation,
    url::{Key, Url},
};

use super::{Calling, methods::PerMethod};

/// Says once for each method that is called and `deprecated=true` that it is.
struct Deprecated(PerMethod<Option<AtomicBool>>);

impl Deprecated {
    fn read(url: &Url) -> Result<Self, BoxError> {
        let methods = PerMethod::read(url, |method| {
            let is = url.get_for(method, &DEPRECATED)?;
            Ok(is.then(AtomicBool::default))
        });
        methods.map(Self)
    }
}

impl Filter for Deprecated {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        if let Some(said) = self.0.get(&invocation.method)
            && !said.swap(true, Ordering::Relaxed)
        {
            let (service, method) = (&invocation.service, invocation.method.name());
            tracing::error!(%service, method, "a method that is deprecated is called");
        }
        next.run(invocation)
    }
}

extension!(dyn Filter, "deprecated", |cx| Ok(Arc::new(
    Deprecated::read(cx.url)?
)));

const DEPRECATED: Key<bool> = Key {
    name: "deprecated",
    default: || false,
};
