//! Metadata as operators see it. `docs/metadata.md` explains what there is, and every key.

/// What an application serves at one revision, and what differs between two: [`MetadataInfo::describe`].
pub use dubbo_metadata::model::{MetadataDiff, MetadataInfo, ServiceDiff, ServiceInfo};

/// The service by which an application tells what its metadata is and how it changes, and takes the rule of a migration:
/// what `dubbo-build` made of `proto/dubbo/rust/metadata/v1/admin.proto`.
///
/// An application serves it by Triple with `dubbo.metadata.admin: true`, without group and version. A program calls it as
/// any service, at one instance's address; where the application has a `dubbo.metadata.token`, with the attachment `token`:
///
/// ```no_run
/// use dubbo::{
///     Instance,
///     config::ReferenceConfig,
///     metadata::admin::{ListMetadataRequest, MetadataAdminClient},
/// };
///
/// # async fn run(instance: Instance) -> Result<(), Box<dyn std::error::Error>> {
/// let at = ReferenceConfig::new().url(["tri://10.0.0.1:50051"]);
/// let admin: MetadataAdminClient = instance.refer_with(at).await?;
/// let listed = admin.list_metadata(ListMetadataRequest::default()).attach("token", "s3cret").await?;
/// for registry in &listed.message().registries {
///     for revision in registry.revisions.iter().filter(|revision| revision.current) {
///         println!("{}: {} with {} services", registry.registry, revision.revision, revision.services.len());
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub mod admin {
    include!("generated/dubbo.rust.metadata.v1.rs");
}
