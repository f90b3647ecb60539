//! Hessian 2 as Dubbo speaks it: a codec for Java's values, usable alone.
//!
//! A Rust type becomes a Java class by [`ToHessian`], [`FromHessian`] and [`JavaType`], which `#[derive(Hessian)]`
//! writes; a value of unknown shape is a [`Value`]. Both directions are one pass over a byte slice, without I/O.
//!
//! ```
//! use dubbo_hessian2::{Hessian, Value, from_slice, to_vec};
//!
//! #[derive(Debug, PartialEq, Hessian)]
//! #[hessian(class = "com.x.User")]
//! struct User {
//!     id: i64,
//!     nick_name: Option<String>, // `nickName` in Java
//! }
//!
//! let user = User { id: 7, nick_name: Some("Al".into()) };
//! let bytes = to_vec(&user)?;
//! assert_eq!(from_slice::<User>(&bytes)?, user);
//!
//! let value: Value = from_slice(&bytes)?;
//! assert_eq!(value, Value::object("com.x.User", [("id", 7_i64.into()), ("nickName", "Al".into())]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rust's own types stand for Java's: `i32` for `int`, `Option<i32>` for `Integer`, `Vec<u8>` for `byte[]`, `Vec<T>` for
//! `List<T>`, `Box<[T]>` for `T[]`, `HashSet` and `BTreeSet` for `Set`, `HashMap` and `BTreeMap` for `Map`, [`Value`] for
//! `Object`; [`java`] has the rest. A `HashMap` may have any hasher. Null reads as `false`, `0`, `""` or an empty collection where the type is one of these,
//! and is an error where it is not; an `Option` tells null from them.
//!
//! # Layout
//!
//! * [`Encoder`] and [`Decoder`] write and read the forms of the wire (`docs/spec/hessian2.md`).
//! * [`Value`] holds anything, shared and cyclic values too, and is written again as Java wrote it.
//! * [`Shared`] is a handle to one object of a graph.
//! * [`Types`] describes Java types to whoever has no classes.
//! * [`java`] has Java's own classes: dates, big numbers, exceptions, and the forms of generic calls.
//! * [`Limits`], [`DecodeOptions`] and [`ClassPolicy`] say what a peer may send.
//!
//! # Features
//!
//! `derive` (on by default): `#[derive(Hessian)]`. `json`: values of generic calls from and to JSON.

// `#[derive(Hessian)]` names the crate.
#[cfg(test)]
extern crate self as dubbo_hessian2;

mod class;
mod decode;
#[doc(hidden)]
pub mod derive_support;
mod describe;
mod encode;
mod error;
pub mod java;
mod limits;
mod policy;
mod shared;
mod stack;
mod std_types;
mod traits;
mod units;
mod value;

pub use class::{Class, Shape};
pub use decode::{Decoder, Kind};
pub use describe::{Fields, TypeShape, Types};
#[cfg(feature = "derive")]
pub use dubbo_macros::StandaloneHessian as Hessian;
pub use encode::{ArrayLists, EncodeOptions, Encoder};
pub use error::{DecodeError, EncodeError};
pub use limits::{DecodeOptions, Limits, LoneSurrogates, MAX_DEPTH};
pub use policy::{CheckMode, ClassPolicy};
pub use shared::Shared;
pub use traits::{FromHessian, JavaType, ToHessian, from_slice, to_vec};
pub use value::{Back, List, Map, Object, Value};
