//! One design for trying again, breaking and recovering (`docs/spec/cluster.md` §7).

pub mod health;
