//! Names and contents, as live peers wrote them and as the specification has them.

mod golden;
mod names;
