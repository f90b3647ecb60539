//! Names the crates whose plugins every program has. A crate that nothing names is left out by the linker.

use dubbo_cluster as _;
use dubbo_protocol as _;
use dubbo_registry as _;
