//! What the consumers' sides of protocols with connections have in common: connections to an address, kept up in the
//! background and shared by references, and what is said of a call in errors.
//!
//! | file | what |
//! |---|---|
//! | `options` | what a URL says about connecting |
//! | `link` | what a protocol says about one connection of its own |
//! | `slots`, `keeper` | the connections to one address: choosing one, and keeping them up |
//! | `pool`, `drivers` | the addresses of one client, the tasks that move their bytes, and their end |
//! | `reference` | what the invokers of protocols have in common |
//! | `call` | where a call goes, until when, and how many there are |

mod call;
mod drivers;
mod keeper;
mod link;
pub(crate) mod options;
mod pool;
mod reference;
mod slots;

pub(crate) use call::{Counted, Deadline, Place};
pub(crate) use link::{Link, Opened, Opener};
pub(crate) use pool::Pool;
pub(crate) use reference::{Reference, address};
pub(crate) use slots::Endpoint;
