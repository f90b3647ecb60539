//! The plugins that look at lists of instances before anybody else does.

use std::sync::Arc;

use dubbo_core::{
    discovery::{InstanceListFilter, Instances},
    panics,
};

/// Filters by their names, in their order (`docs/spec/metadata.md` §7.3).
pub(super) struct Filters(Vec<(Arc<str>, Arc<dyn InstanceListFilter>)>);

/// How many instances each filter has taken out of a list, by the filter's name.
pub(super) type LeftOut = Vec<(Arc<str>, usize)>;

impl Filters {
    pub(super) fn new(named: Vec<(String, Arc<dyn InstanceListFilter>)>) -> Self {
        let named = named.into_iter();
        Self(named.map(|(name, filter)| (name.into(), filter)).collect())
    }

    /// What all of them leave of `list`. One that fails has seen nothing.
    pub(super) fn apply(&self, application: &str, list: Instances) -> (Instances, LeftOut) {
        let mut left_out = LeftOut::new();
        if self.0.is_empty() {
            return (list, left_out);
        }
        let mut list = list.to_vec();
        for (name, filter) in &self.0 {
            let mut filtered = list.clone();
            match panics::guard_plugin(|| filter.filter(application, &mut filtered)) {
                Ok(()) => {
                    let gone = list.len().saturating_sub(filtered.len());
                    if gone > 0 {
                        left_out.push((Arc::clone(name), gone));
                    }
                    list = filtered;
                }
                Err(error) => tracing::warn!(
                    application,
                    filter = &**name,
                    error,
                    "an instance list filter failed; the list is as it was before"
                ),
            }
        }
        (list.into(), left_out)
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::{discovery::ServiceInstance, extension::BoxError};

    use super::*;

    struct By(fn(&str, &mut Vec<Arc<ServiceInstance>>) -> Result<(), BoxError>);

    impl InstanceListFilter for By {
        fn filter(
            &self,
            application: &str,
            instances: &mut Vec<Arc<ServiceInstance>>,
        ) -> Result<(), BoxError> {
            (self.0)(application, instances)
        }
    }

    #[test]
    fn each_sees_what_those_before_it_left_and_one_that_fails_has_seen_nothing() {
        let list: Instances = (1..=5)
            .map(|port| ServiceInstance::new("demo", "h", port).into())
            .collect();
        let filters: [(&str, By); 5] = [
            (
                "odd",
                By(|_, list| {
                    list.retain(|instance| instance.port % 2 == 1);
                    Ok(())
                }),
            ),
            (
                "failing",
                By(|_, list| {
                    list.clear();
                    Err("no idea".into())
                }),
            ),
            (
                "panicking",
                By(|_, list| {
                    list.clear();
                    panic!("no idea");
                }),
            ),
            (
                "first",
                By(|application, list| {
                    assert_eq!((application, list.len()), ("demo", 3));
                    list.remove(0);
                    Ok(())
                }),
            ),
            (
                "heavy",
                By(|_, list| {
                    for instance in list {
                        Arc::make_mut(instance).weight = 7;
                    }
                    Ok(())
                }),
            ),
        ];
        let named = filters.into_iter().map(|(name, filter)| {
            let filter: Arc<dyn InstanceListFilter> = Arc::new(filter);
            (name.to_owned(), filter)
        });
        let (left, left_out) = Filters::new(named.collect()).apply("demo", list.clone());
        let left: Vec<_> = left.iter().map(|one| (one.port, one.weight)).collect();
        assert_eq!(left, [(3, 7), (5, 7)]);
        let left_out: Vec<_> = left_out.iter().map(|(name, n)| (&**name, *n)).collect();
        assert_eq!(left_out, [("odd", 2), ("first", 1)]);

        let (same, none) = Filters::new(Vec::new()).apply("demo", list.clone());
        assert!(same.is_same(&list) && none.is_empty());
    }
}
