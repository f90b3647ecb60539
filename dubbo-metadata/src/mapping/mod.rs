//! Which applications provide an interface (`docs/spec/metadata.md` §5).

mod registrar;
pub(crate) mod resolver;
mod view;

pub use registrar::{Registrar, RegistrarOptions, RegistrationStatus};
pub use view::MappingView;
