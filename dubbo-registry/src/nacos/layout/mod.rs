//! What things are called in Nacos and what they say (`docs/spec/registry.md` §3, §7, §8.1).
//!
//! A [`Place`] is a service, `{group}@@{service}`; a folder is a group. Nacos refuses names of other characters than it
//! likes and metadata that are too long; here they are refused before anything is asked of it, as nacos-sdk would go on
//! asking for what was refused ([`limits`]).

mod instances;
mod interfaces;
pub(super) mod limits;
mod texts;

use dubbo_core::url::Url;

pub(super) use instances::Instances;
pub(super) use interfaces::Interfaces;
pub(super) use texts::Texts;

use self::limits::Illegal;
use crate::backend::Place;

/// The service called `service`.
fn place(group: &str, service: &str) -> Place {
    Place(format!("{group}{SEPARATOR}{service}").into())
}

/// Group and service of a place; the service of a folder is empty.
pub(super) fn split(place: &Place) -> (&str, &str) {
    place.0.split_once(SEPARATOR).unwrap_or((&place.0, ""))
}

/// The group that `url` names.
fn group(url: &Url, default: &'static str) -> Result<String, Illegal> {
    let group = url.param("group").filter(|group| !group.is_empty());
    let group = group.unwrap_or(default);
    limits::group(group)?;
    Ok(group.to_owned())
}

const SEPARATOR: &str = "@@";

const DEFAULT_GROUP: &str = "DEFAULT_GROUP";

#[cfg(test)]
mod tests;
