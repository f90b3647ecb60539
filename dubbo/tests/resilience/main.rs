//! Calls over real connections while providers fail: what a healthy one could serve is served, what cannot be is not tried
//! more often than is allowed, and nothing is left behind (`docs/spec/cluster.md` §9).

mod faults;
mod leftovers;
mod nodes;
mod pushback;
mod rig;
mod storm;
