//! What a router does, told step by step to whoever wants to know.

use std::fmt::Write as _;

use dubbo_core::cluster::Candidates;

/// Hears what a router does. On the way of a call nobody does, and nothing is put into words.
pub(super) trait Listen {
    /// Something was decided, and `left` are left after it.
    fn step(&mut self, what: impl FnOnce() -> String, left: &Candidates);
}

/// Does not listen.
pub(super) struct Nobody;

impl Listen for Nobody {
    fn step(&mut self, _what: impl FnOnce() -> String, _left: &Candidates) {}
}

/// Hears what is done under a rule, and tells it on with the rule's name.
pub(super) struct Under<'a, L> {
    name: &'a dyn Fn() -> String,
    listen: &'a mut L,
}

impl<'a, L> Under<'a, L> {
    pub(super) fn new(name: &'a dyn Fn() -> String, listen: &'a mut L) -> Self {
        Self { name, listen }
    }
}

impl<L: Listen> Listen for Under<'_, L> {
    fn step(&mut self, what: impl FnOnce() -> String, left: &Candidates) {
        let name = self.name;
        self.listen.step(|| format!("{}: {}", name(), what()), left);
    }
}

/// All that was decided.
#[derive(Debug, Default)]
pub(super) struct Story(pub(super) Vec<Decided>);

/// One thing that was decided.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) what: String,
    pub(super) left: Candidates,
}

impl Story {
    /// The story in one line; `None` when nothing was told.
    pub(super) fn told(self) -> Option<String> {
        let mut text = String::new();
        for Decided { what, left } in &self.0 {
            let separator = if text.is_empty() { "" } else { "; " };
            // Writing to a text does not fail.
            let _ = write!(text, "{separator}{what} -> {}", left.len());
        }
        (!text.is_empty()).then_some(text)
    }
}

impl Listen for Story {
    fn step(&mut self, what: impl FnOnce() -> String, left: &Candidates) {
        self.0.push(Decided {
            what: what(),
            left: left.clone(),
        });
    }
}
