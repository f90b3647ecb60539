//! Services without an IDL: what Java interfaces are here.

mod attachments;
mod exception;
mod rpc_exception;

pub use self::exception::{exception, thrown};
pub(crate) use self::{
    attachments::{read_attachments, write_attachments, write_attachments_with},
    exception::{from_throwable, to_throwable},
};
