//! The port for operators, from outside: probes, commands over HTTP and telnet, who may what, and services that leave the
//! registries and come back. Also the hooks of a program.

mod access;
mod browser;
mod commands;
mod hooks;
mod looking;
mod presence;
#[allow(dead_code, reason = "the tests of instances use all of it")]
#[path = "../instance/probe.rs"]
mod probe;
mod probes;
#[allow(dead_code, reason = "the tests of instances use all of it")]
#[path = "../instance/rig.rs"]
mod rig;
mod shutdown;
mod snapshots;
mod status;
mod support;
mod telnet;
