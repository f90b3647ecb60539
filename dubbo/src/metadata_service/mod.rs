//! The metadata service: how consumers ask an instance for what it serves (`docs/spec/metadata.md` §3).
//!
//! It is an RPC service like any other, of two versions: the first one of a Java interface, by the classic protocol and by
//! Triple, the second one of a proto file, by Triple alone. [`services`] are what a provider exports, in the group of its
//! application; [`RpcFetch`] is what a consumer calls, whichever of them the instance has. [`admin`] is for operators.
//!
//! | file | what |
//! |---|---|
//! | `content` | what the answers are made of |
//! | `server`, `v1`, `v2`, `admin` | the services, ready to be exported |
//! | `access` | who may ask them, and how often |
//! | `encodings` | answers that are encoded once |
//! | `message` | metadata as the second version's messages |
//! | `openapi` | what is served, as an OpenAPI document |
//! | `target` | which service of an instance to call, and where |
//! | `fetch` | the call |

mod access;
mod admin;
mod content;
mod encodings;
mod fetch;
mod message;
mod openapi;
mod server;
mod target;
mod v1;
mod v2;

pub(crate) use self::{
    access::Access,
    admin::AdminContent,
    content::Content,
    fetch::{FetchOptions, RpcFetch},
    server::{MetadataService, admin, services},
};

/// What dubbo-build made of `proto/org/apache/dubbo/metadata`.
mod proto {
    include!("../generated/org.apache.dubbo.metadata.rs");
}

#[cfg(test)]
mod tests;
