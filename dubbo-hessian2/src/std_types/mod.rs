//! The types of Rust's standard library as types of Java.

mod lists;
mod maps;
mod numbers;
mod pointers;
mod text;
