//! What an attempt tells the provider about the call that it is of (`docs/spec/cluster.md` §7.4).

use dubbo_core::attachments::Attachments;

use super::Class;

/// The attempt after `failures` failures, the last of which was of class `cause`. A first attempt says nothing of this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempted<'a> {
    pub(crate) failures: u32,
    pub(crate) cause: Class,
    /// `None` where there are no pools.
    pub(crate) pool: Option<&'a str>,
}

impl Attempted<'_> {
    /// Writes it to what goes with one attempt to a provider of `protocol`.
    pub(crate) fn write(self, attachments: &mut Attachments, protocol: &str) {
        write_numbers(attachments, self.failures, protocol);
        attachments.insert(CAUSE, self.cause.name());
        if let Some(pool) = self.pool {
            attachments.insert(POOL, pool.to_owned());
        }
    }
}

/// Writes what tells hedge `number` of a call, 1 for the first, from the attempt that it keeps company.
pub(crate) fn hedged(attachments: &mut Attachments, number: u32, pool: &str, protocol: &str) {
    write_numbers(attachments, number, protocol);
    attachments.insert(POOL, pool.to_owned());
}

fn write_numbers(attachments: &mut Attachments, before: u32, protocol: &str) {
    attachments.insert(ATTEMPT, before.saturating_add(1).to_string());
    if TRIPLE.contains(&protocol) {
        attachments.insert(GRPC_ATTEMPTS, before.to_string());
    }
}

const ATTEMPT: &str = "dubbo-attempt";
const CAUSE: &str = "dubbo-attempt-cause";
const POOL: &str = "dubbo-retry-pool";
const GRPC_ATTEMPTS: &str = "grpc-previous-rpc-attempts";

/// The schemes of Triple.
const TRIPLE: [&str; 2] = ["tri", "triple"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_attempt_says_three_and_grpc_counts_two() {
        let attempted = Attempted {
            failures: 2,
            cause: Class::NotSent,
            pool: Some("gray"),
        };
        for (protocol, grpc) in [("tri", Some("2")), ("dubbo", None)] {
            let mut attachments = Attachments::new();
            attempted.write(&mut attachments, protocol);
            for (name, want) in [
                ("dubbo-attempt", Some("3")),
                ("dubbo-attempt-cause", Some("not-sent")),
                ("dubbo-retry-pool", Some("gray")),
                ("grpc-previous-rpc-attempts", grpc),
            ] {
                assert_eq!(attachments.get(name), want, "{protocol} {name}");
            }
        }
    }
}
