//! What every plugin of a kind does, as tests that each of them passes.

pub mod center;
pub mod cluster;
pub mod discovery;
pub mod load_balance;
pub mod protocol;
pub mod registry;
pub mod report;
mod subject;
mod wire;

pub use subject::{Hook, Hooks, Look, Subject};
pub use wire::Wire;

/// Makes each function of a suite a test: `suite_tests!(discovery [#[tokio::test]] subject(); one, other,)`.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_tests {
    (@one $suite:ident [$(#[$attribute:meta])+] $subject:expr; $name:ident) => {
        $(#[$attribute])+
        async fn $name() {
            $crate::suite::$suite::$name($subject).await;
        }
    };
    ($suite:ident $attributes:tt $subject:expr; $($name:ident,)*) => {
        $($crate::suite_tests! { @one $suite $attributes $subject; $name })*
    };
}
