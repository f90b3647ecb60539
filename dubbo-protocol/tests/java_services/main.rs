//! Services without an IDL, called over each protocol: by clients of the same types, of others, and by name.

mod generic;
mod idl;
mod recordings;
mod typed;
mod users;
