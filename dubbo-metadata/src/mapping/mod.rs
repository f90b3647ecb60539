//! Which applications provide an interface (`docs/spec/metadata.md` §5).

mod registrar;
pub(crate) mod resolver;

pub use registrar::{MappingState, MappingStatus, Registrar, RegistrarOptions};
