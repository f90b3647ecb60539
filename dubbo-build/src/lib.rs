//! Generates Rust services and clients from .proto files, without `protoc`.
//!
//! A crate that serves or calls a service depends on `dubbo`, has this crate among its build dependencies, and a
//! `build.rs`:
//!
//! ```no_run
//! fn main() -> Result<(), dubbo_build::Error> {
//!     dubbo_build::configure().compile(&["proto/greet.proto"], &["proto"])
//! }
//! ```
//!
//! The code of each proto package goes to a file of its own, which the crate includes:
//!
//! ```ignore
//! mod greet {
//!     dubbo::include_proto!("greet");
//! }
//! ```
//!
//! # What is generated
//!
//! Messages as structs, by prost: `bytes` are `bytes::Bytes`, well-known types are those of pbjson-types, and
//! `prost::Name` tells the full name. For a service `Greeter`:
//!
//! - the trait `Greeter` with an `async fn` for each rpc, in `snake_case`; on the wire the rpc keeps its name;
//! - `GreeterServer`, which serves an implementation: `instance.provide(GreeterServer::new(handler))`;
//! - `GreeterClient`, which calls it: `instance.refer::<GreeterClient>()`;
//! - `GREETER_DESCRIPTOR` and, for the whole package, `FILE_DESCRIPTOR_SET`: what is known at run time.
//!
//! ```
//! let folder = std::env::temp_dir().join("dubbo-build-example");
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(
//!     folder.join("greet.proto"),
//!     r#"
//!         syntax = "proto3";
//!         package greet;
//!         service Greeter {
//!             rpc SayHello(Hello) returns (Hello);
//!         }
//!         message Hello {
//!             string text = 1;
//!         }
//!     "#,
//! )?;
//!
//! let files = dubbo_build::configure().generate(&["greet.proto"], &[&folder])?;
//! for part in ["pub struct Hello", "pub trait Greeter", "pub struct GreeterServer", "fn say_hello"] {
//!     assert!(files["greet.rs"].contains(part));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read are proto2 and proto3, not editions. Extensions of proto2 have no code, and their fields are skipped.
//!
//! # Several packages
//!
//! Messages of one package find those of another by the path of its module, so modules have to be nested like packages.
//! [`Builder::include_file`] writes a file that does it: `include_file("all.rs")`, then `dubbo::include_proto!("all")`.
//! The file of a proto file without a package is called `_.rs`.
//!
//! # JSON
//!
//! Messages have serde's traits, in the protobuf JSON mapping. Written are the names of the proto file, as dubbo-go does;
//! those and `lowerCamelCase` are read. 64-bit integers are strings, enums are names (a number that has none keeps it), bytes
//! are base64, NaN and the infinities their names; numbers are read from strings too and enums from numbers; `null` is an
//! absent field, but for one of type `Value`; an unknown field is refused. Well-known types have their own forms.
//!
//! It leaves the mapping in these points:
//!
//! - `Any` is written as its two fields, not as the message in it: which one that is, nothing here knows.
//! - Of two names that an enum has for one number, the first is read.
//! - A well-known type that is not a field but the whole request or reply is pbjson's: `Timestamp` is written with `+00:00`
//!   instead of `Z`, `FieldMask` as its list, and NaN as `null`. So are the values of a map of `FieldMask`, and `null` in one of
//!   `Value` is a `Value` without a kind.
//!
//! [`Builder::json`] switches it off.
//!
//! # Names
//!
//! Generated code uses absolute paths only: messages may be called `Request`, `Option` or `String`, and modules `std`
//! or `dubbo`. Keywords become raw identifiers, such as `r#type`. What is one name in Rust and two in the proto file is
//! an error that names both.

mod builder;
mod docs;
mod error;
mod extern_paths;
mod generate;
mod include;
mod json;
mod names;
mod proto;
mod service;

pub use self::{builder::Builder, error::Error};

/// Starts with the default settings.
pub fn configure() -> Builder {
    Builder::new()
}
