//! The program `dubbo` as its users run it, against providers that are started here.

mod bench;
mod call;
mod config;
mod describe;
mod list;
mod metadata;
mod new;
mod process;
mod rig;
mod route;
mod words;
