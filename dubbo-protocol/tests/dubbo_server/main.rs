//! The server of the `dubbo` protocol as its callers see it: every test talks to it over a socket, in frames that are
//! made and read here and not by what is tested.

mod attachments;
mod calls;
mod cancellation;
mod events;
mod exports;
mod limits;
mod one_way;
mod provider;
mod recorded;
mod refusals;
mod shutdown;
mod wire;
