//! Generates Rust services and clients from .proto files, without protoc.
