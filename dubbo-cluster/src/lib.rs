//! Chooses a node and saves a failed call: directories, routers, load balancers, clusters, and the migration between two
//! directories of one service.
//!
//! ```text
//! caller -> cluster (failover, failfast): attempts
//!             -> directory: who is there, routers applied    every attempt
//!             -> load balance (random, p2c, …): which        every attempt
//!             -> filters and protocol of the chosen node     every attempt
//! ```
//!
//! `docs/spec/cluster.md` says what each does. Everything up to the chosen node is synchronous, takes no lock but that of
//! a rotation, and allocates nothing for up to 16 providers.
//!
//! Plugins that this crate links: clusters: see [`cluster`]; load balances: see [`loadbalance`]; routers: see [`router`];
//! the merger `protobuf`.

pub mod cluster;
pub mod configurator;
pub mod directory;
pub mod loadbalance;
pub mod migration;
pub mod resend;
pub mod router;
pub mod rules;
#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use dubbo_core::{
        cluster::{Cluster, LoadBalance, Router},
        extension::Extensions,
    };

    use crate::router;

    #[test]
    fn what_is_linked_is_what_the_documentation_says() {
        let linked = Extensions::linked().expect("no duplicates");
        assert_eq!(
            linked.names::<dyn Cluster>(),
            [
                "adaptiveService",
                "available",
                "broadcast",
                "failback",
                "failfast",
                "failover",
                "failsafe",
                "forking",
                "mergeable",
                "retrySame",
                "zone-aware"
            ]
        );
        assert_eq!(
            linked.names::<dyn LoadBalance>(),
            [
                "adaptive",
                "aliasmethod",
                "consistenthashing",
                "interleavedweightedroundrobin",
                "leastactive",
                "p2c",
                "random",
                "roundrobin",
                "shortestresponse"
            ]
        );
        let mut routers = router::defaults().to_vec();
        routers.sort_unstable();
        assert_eq!(linked.names::<dyn Router>(), routers);
    }
}
