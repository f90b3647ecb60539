use std::sync::Arc;

use dubbo_core::{
    cluster::{Candidates, LoadBalance},
    invocation::Invocation,
};

/// Takes the provider that costs least: the one with the smallest parameter `acme.price`.
#[derive(Debug)]
pub struct Thrifty;

impl LoadBalance for Thrifty {
    fn select(&self, candidates: &Candidates, _invocation: &Invocation) -> Option<usize> {
        let price = |at: &usize| {
            let node = candidates.get(*at)?;
            node.url.param("acme.price")?.parse::<u32>().ok()
        };
        // Who does not say is the dearest.
        (0..candidates.len()).min_by_key(|at| price(at).unwrap_or(u32::MAX))
    }
}

dubbo_core::extension!(dyn LoadBalance, "thrifty", |_context| Ok(Arc::new(Thrifty)));
