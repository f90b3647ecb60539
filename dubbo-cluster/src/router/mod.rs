//! Which providers a call may go to. None of the rules themselves is linked yet; the chain that runs them is here.

mod chain;

pub use chain::RouterChain;
