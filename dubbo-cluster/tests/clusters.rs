//! Every cluster passes the suite.

use dubbo_cluster as _;
use dubbo_core::{cluster::Cluster, extension::Extensions};
use dubbo_test::suite::cluster::Joining;

fn extensions() -> Extensions {
    Extensions::linked().expect("no duplicates")
}

fn joining(name: &str) -> Joining {
    Joining::linked(name, extensions())
}

macro_rules! suites {
    ($($module:ident $name:literal $joining:expr,)*) => {
        $(mod $module {
            use super::*;

            dubbo_test::cluster_suite! { $joining }
        })*

        #[test]
        fn each_that_is_linked_is_here() {
            let mut here = [$($name),*];
            here.sort_unstable();
            assert_eq!(extensions().names::<dyn Cluster>(), here);
        }
    };
}

suites! {
    adaptive_service "adaptiveService" Joining {
        params: vec![("cluster", "adaptiveService"), ("loadbalance", "p2c")],
        ..joining("adaptiveService")
    },
    available "available" joining("available"),
    broadcast "broadcast" joining("broadcast"),
    failback "failback" Joining {
        tells_failures: false,
        tells_nobody: false,
        ..joining("failback")
    },
    failfast "failfast" joining("failfast"),
    failover "failover" joining("failover"),
    failsafe "failsafe" Joining {
        tells_failures: false,
        ..joining("failsafe")
    },
    forking "forking" joining("forking"),
    mergeable "mergeable" joining("mergeable"),
    retry_same "retrySame" joining("retrySame"),
    zone_aware "zone-aware" joining("zone-aware"),
}
