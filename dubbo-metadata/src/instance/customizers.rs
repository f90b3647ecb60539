//! What a program's own plugins add to its instances, and how far they may go.

use std::{fmt, sync::Arc};

use dubbo_core::{
    discovery::{Described, InstanceCustomizer, InstanceDraft},
    panics,
};

use super::keys;
use crate::error::MetadataError;

/// Instance customizers by their names, in the order in which they write.
#[derive(Clone, Default)]
pub struct Customizers(Vec<Named>);

type Named = (String, Arc<dyn InstanceCustomizer>);

impl Customizers {
    /// Sorts them by order, then by name.
    ///
    /// # Errors
    ///
    /// One has an order that is none of 100 to 9000.
    pub fn new(mut named: Vec<Named>) -> Result<Self, MetadataError> {
        for (name, customizer) in &named {
            let order = customizer.order();
            if !(FIRST..=LAST).contains(&order) {
                let name = name.clone();
                return Err(MetadataError::CustomizerOrder { name, order });
            }
        }
        named.sort_by(|(one, a), (other, b)| (a.order(), one).cmp(&(b.order(), other)));
        Ok(Self(named))
    }

    /// Lets all of them write, and tells what went wrong. What one of them must not touch is as it was afterwards, and one
    /// that fails has not written anything.
    pub(super) fn customize(
        &self,
        draft: &mut InstanceDraft,
        described: &Described<'_>,
    ) -> Vec<String> {
        let mut complaints = Vec::new();
        for (name, customizer) in &self.0 {
            let mut written = draft.clone();
            match panics::guard_plugin(|| customizer.customize(&mut written, described)) {
                Ok(()) => {
                    let taken_back = take_back(&mut written, draft);
                    if !taken_back.is_empty() {
                        complaints.push(format!(
                            "the instance customizer `{name}` changed what the framework needs, which is as it was: {}",
                            taken_back.join(", ")
                        ));
                    }
                    *draft = written;
                }
                Err(error) => complaints.push(format!(
                    "the instance customizer `{name}` failed, so what it wrote is left out: {error}"
                )),
            }
        }
        complaints
    }
}

impl fmt::Debug for Customizers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// Makes what is the framework's own in `written` as it is in `before`, and tells what was not.
fn take_back(written: &mut InstanceDraft, before: &InstanceDraft) -> Vec<&'static str> {
    let mut taken_back = Vec::new();
    let (host, port) = (&before.instance().host, before.instance().port);
    if (&written.instance().host, written.instance().port) != (host, port) {
        written.set_address(Arc::clone(host), port);
        taken_back.push("the address");
    }
    for key in keys::OWN {
        let value = before.get(key);
        if written.get(key) == value {
            continue;
        }
        match value {
            Some(value) => written.set(key, value),
            None => written.remove(key),
        }
        taken_back.push(key);
    }
    taken_back
}

/// The orders that are not the framework's.
const FIRST: u16 = 100;
const LAST: u16 = 9000;

#[cfg(test)]
mod tests {
    use dubbo_core::{discovery::ServiceInstance, extension::BoxError};

    use super::*;

    type Write = fn(&mut InstanceDraft) -> Result<(), BoxError>;

    struct Custom(u16, Write);

    impl InstanceCustomizer for Custom {
        fn order(&self) -> u16 {
            self.0
        }

        fn customize(&self, draft: &mut InstanceDraft, _: &Described<'_>) -> Result<(), BoxError> {
            (self.1)(draft)
        }
    }

    fn named(name: &str, order: u16, write: Write) -> Named {
        (name.to_owned(), Arc::new(Custom(order, write)))
    }

    fn begun() -> InstanceDraft {
        let mut draft = InstanceDraft::new(ServiceInstance::new("demo", "10.0.0.1", 50051));
        draft.set(keys::REVISION, "222f");
        draft.set(keys::STORAGE_TYPE, "local");
        draft.set("zone", "a");
        draft
    }

    fn customized(customizers: Vec<Named>) -> (InstanceDraft, Vec<String>) {
        let mut draft = begun();
        let customizers = Customizers::new(customizers).expect("orders that are allowed");
        let complaints = customizers.customize(&mut draft, &Described::new("demo", "222f"));
        (draft, complaints)
    }

    fn append(draft: &mut InstanceDraft, letter: char) {
        let mut trace = draft.get("trace").unwrap_or_default().to_owned();
        trace.push(letter);
        draft.set("trace", trace);
    }

    #[test]
    fn they_write_by_order_and_then_by_name() {
        let (draft, complaints) = customized(vec![
            named("b", 1000, |draft| {
                append(draft, 'c');
                Ok(())
            }),
            named("z", 100, |draft| {
                append(draft, 'a');
                Ok(())
            }),
            named("a", 9000, |draft| {
                append(draft, 'd');
                Ok(())
            }),
            named("a", 1000, |draft| {
                append(draft, 'b');
                Ok(())
            }),
        ]);
        assert_eq!(draft.get("trace"), Some("abcd"));
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    #[test]
    fn orders_of_the_framework_are_refused() {
        for order in [0, 40, 99, 9001] {
            let error = Customizers::new(vec![named("zone", order, |_| Ok(()))])
                .expect_err("not allowed")
                .to_string();
            let want = format!(
                "the instance customizer `zone` has the order {order}; give it one from 100 to 9000, for those below \
                 100 are the framework's"
            );
            assert_eq!(error, want);
        }
    }

    #[test]
    fn one_that_fails_loses_what_it_wrote_and_no_more() {
        let (draft, complaints) = customized(vec![
            named("1-good", 1000, |draft| {
                draft.set("good", "1");
                Ok(())
            }),
            named("2-failing", 1000, |draft| {
                draft.set("half", "1");
                draft.set("zone", "changed");
                draft.remove("good");
                Err("the rest is missing".into())
            }),
            named("3-panicking", 1000, |draft| {
                draft.set("half", "1");
                draft.set_weight(1);
                panic!("at this point");
            }),
            named("4-good", 1000, |draft| {
                draft.set("also", "1");
                Ok(())
            }),
        ]);
        let mut want = begun();
        want.set("good", "1");
        want.set("also", "1");
        assert_eq!(draft, want);
        assert_eq!(
            complaints,
            [
                "the instance customizer `2-failing` failed, so what it wrote is left out: the rest is missing",
                "the instance customizer `3-panicking` failed, so what it wrote is left out: it panicked: at this point",
            ]
        );
    }

    #[test]
    fn what_the_framework_needs_stays_and_all_else_counts() {
        let (draft, complaints) = customized(vec![named("breaker", 100, |draft| {
            draft.set_address("10.9.9.9", 1);
            draft.set(keys::REVISION, "mine");
            draft.remove(keys::STORAGE_TYPE);
            draft.set(keys::ENDPOINTS, "[]");
            draft.set(keys::META_V, "3");
            draft.set(keys::METADATA_SERVICE_PARAMS, "{}");
            draft.set(keys::CLUSTER, "nowhere");
            draft.set(keys::TAG, "gray");
            draft.set("zone", "b");
            draft.set_weight(50);
            draft.set_enabled(false);
            Ok(())
        })]);
        let mut want = begun();
        want.set(keys::TAG, "gray");
        want.set("zone", "b");
        want.set_weight(50);
        want.set_enabled(false);
        assert_eq!(draft, want);
        assert_eq!(
            complaints,
            [
                "the instance customizer `breaker` changed what the framework needs, which is as it was: the address, \
                 dubbo.metadata.cluster, dubbo.endpoints, meta-v, dubbo.metadata-service.url-params, \
                 dubbo.metadata.revision, dubbo.metadata.storage-type"
            ]
        );
        assert_eq!(draft.get("weight"), Some("50"));
        assert_eq!(draft.instance().weight, 50);
    }
}
