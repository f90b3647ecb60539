//! Instances from the text of their configuration to the wire: what each key does, and how instances begin and end.

mod applications;
mod balance;
mod clients;
mod discovery;
mod drain;
mod filters;
mod hessian2;
mod injvm;
mod java;
mod keep_alive;
mod layers;
mod lifecycle;
mod limits;
mod ports;
mod probe;
mod published;
mod report;
mod retries;
mod rig;
mod rolling;
mod routing;
mod shutdown_keys;
mod streams;
mod timeouts;
mod tls;
mod two_instances;
