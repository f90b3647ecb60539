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
//! Plugins that this crate links: clusters `failover`, `failfast`; load balances: see [`loadbalance`].

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

    #[test]
    fn what_is_linked_is_what_the_documentation_says() {
        let linked = Extensions::linked().expect("no duplicates");
        assert_eq!(linked.names::<dyn Cluster>(), ["failfast", "failover"]);
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
        assert!(linked.names::<dyn Router>().is_empty());
    }
}
