//! Every load balance that is linked passes the suite.

use dubbo_cluster as _;
use dubbo_core::{cluster::LoadBalance, extension::Extensions, url::Url};
use dubbo_test::suite::load_balance::{Balance, questions};

/// The one called `name`, as a reference gets it.
fn balance(name: &str, is_weighted: bool) -> Balance {
    let linked = Extensions::linked().expect("no duplicates");
    // So many virtual nodes that the shares of these providers are even on a ring, too.
    let url = Url::new("consumer", "10.0.0.9").with_param("hash.nodes", "800");
    Balance {
        load_balance: linked.create::<dyn LoadBalance>(name, &url).expect(name),
        is_weighted,
    }
}

#[test]
fn a_pick_among_ten_thousand_asks_few_of_them() {
    for name in Extensions::linked()
        .expect("no duplicates")
        .names::<dyn LoadBalance>()
    {
        // Every turn changes the credit of all.
        if name == "roundrobin" {
            continue;
        }
        let asked = questions(&balance(name, true), 10_000);
        assert!(asked <= 40, "{name}: {asked} for a pick");
    }
}

macro_rules! each {
    ($($name:ident $is_weighted:literal;)*) => {
        $(mod $name {
            dubbo_test::load_balance_suite!(super::balance(stringify!($name), $is_weighted));
        })*

        #[test]
        fn every_load_balance_that_is_linked_is_here() {
            let linked = Extensions::linked().expect("no duplicates");
            assert_eq!(linked.names::<dyn LoadBalance>(), [$(stringify!($name)),*]);
        }
    };
}

each! {
    adaptive true;
    aliasmethod true;
    consistenthashing false;
    interleavedweightedroundrobin true;
    leastactive true;
    p2c true;
    random true;
    roundrobin true;
    shortestresponse true;
}
