//! Trying rules that route calls before anybody goes by them.
//!
//! ```
//! use dubbo::{Url, route};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let providers: Vec<Url> = vec![
//!     "tri://10.0.0.1:50051/shop.Users?region=hz".parse()?,
//!     "tri://10.0.0.2:50051/shop.Users?region=sh".parse()?,
//! ];
//! let request = route::Request::new("shop.Users", "find").consumer("region", "hz");
//! let run = route::dry_run("method=find => region=$region", &providers, &request)?;
//! assert_eq!(run.kept().collect::<Vec<_>>(), ["tri://10.0.0.1:50051"]);
//! println!("{run}");
//! # Ok(())
//! # }
//! ```

pub use dubbo_cluster::router::{DryRun, Outcome, Request, RuleKind, dry_run, dry_run_as};
