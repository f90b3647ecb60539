//! Service definitions: what the methods of a service take and give, for consoles that show services and call them without
//! their classes.
//!
//! A definition is the JSON of Dubbo Java's `FullServiceDefinition`, stored in every metadata report under a
//! [`DefinitionId`] (`docs/spec/metadata.md` §4.1.1 and §7.2, `docs/spec/config.md` §6.3); of a consumer, its parameters
//! are there. [`Publisher`] sees to it that they are.
//!
//! | file | what |
//! |---|---|
//! | `model` | the definition |
//! | `java`, `proto` | what a Java interface and a proto file say |
//! | `names` | what Java calls the types of a proto file |
//! | `id` | where a definition stands |
//! | `parameters` | which parameters of a URL are told |
//! | `publish` | keeping definitions in reports |

mod id;
mod java;
mod metrics;
mod model;
mod names;
mod parameters;
mod proto;
mod publish;

pub use self::{
    id::{DefinitionId, Side},
    model::{MethodDefinition, ServiceDefinition, TypeDefinition},
    parameters::consumer_parameters,
    publish::{Publisher, PublisherOptions},
};

#[cfg(test)]
mod tests;
