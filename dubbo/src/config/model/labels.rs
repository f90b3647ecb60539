//! What the instances of a program say about themselves because somebody wants them to, as in Dubbo Java
//! (`docs/spec/metadata.md` §1.6).

use std::collections::BTreeMap;

use dubbo_core::yaml::{ProblemKind, Section, Value};
use dubbo_metadata::instance::Labels;

use super::settings;
use crate::config::Environment;

settings! {
    /// `dubbo.env`: which environment variables are labels.
    pub struct EnvConfig {
        /// `keys`: the names of variables whose values every instance says about itself, under these names and under the
        /// same in lower case. One that is not set says nothing.
        keys: Option<Vec<String>>,
    }
}

impl EnvConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            keys: s.list("keys"),
        }
    }

    /// What the variables are now.
    pub(crate) fn labels(
        &self,
        environment: &Environment,
    ) -> impl Iterator<Item = (String, String)> {
        let names = self.keys.iter().flatten();
        names
            .filter_map(|name| Some((name, environment.get(name)?)))
            .flat_map(|(name, value)| {
                [name.to_lowercase(), name.clone()].map(|label| (label, value.to_owned()))
            })
    }
}

/// Reads `labels`: a map, or a text such as `zone=east;rack=r7`.
pub(super) fn read(s: &mut Section<'_, '_>) -> BTreeMap<String, String> {
    let Some(node) = s.node(LABELS) else {
        return BTreeMap::new();
    };
    let Value::Scalar(text) = &node.value else {
        return s.texts(LABELS);
    };
    match text.text.parse::<Labels>() {
        Ok(labels) => labels
            .iter()
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .collect(),
        Err(error) => {
            s.error(LABELS, ProblemKind::Type, error.to_string());
            BTreeMap::new()
        }
    }
}

const LABELS: &str = "labels";
