use std::sync::Arc;

use dubbo_core::yaml::{ProblemKind, Section};
use dubbo_hessian2::{CheckMode, ClassPolicy, DecodeOptions, Limits, LoneSurrogates, MAX_DEPTH};

use super::settings;

settings! {
    /// `dubbo.hessian2`: what peers may send in hessian2, to the services of this program and in answers to its calls,
    /// whatever the protocol (`docs/spec/config.md` §1.24, `docs/spec/hessian2.md` §18). dubbo-go has no such section.
    ///
    /// A message beyond a limit ends its call with an error that names the limit; the connection goes on. So does an object
    /// of a class that is refused, where a Rust type of its own is to be made of it. Where it stays data, as a
    /// [`Value`](dubbo_hessian2::Value), a map or an exception, it is read. Either is logged under the target
    /// `dubbo::hessian::audit`, once for each class.
    ///
    /// The classes of Java itself, and the exceptions and descriptors of Dubbo, need not be allowed.
    pub struct Hessian2Config {
        /// `max-depth`, by default 128 and at most 512: how deep lists, maps and objects may nest.
        max_depth: Option<usize>,
        /// `max-nodes`, by default 1000000: how many lists, maps, objects and names of fields a message may have, and other
        /// things that take much more memory than bytes.
        max_nodes: Option<usize>,
        /// `max-expansion`, in bytes, by default 16 MiB: how much of a message may be read again because references in it
        /// stand for plain Rust values.
        max_expansion: Option<u64>,
        /// `max-classes`, by default 4096: how many classes a message may define.
        max_classes: Option<usize>,
        /// `max-fields`, by default 4096: how many fields a class may have.
        max_fields: Option<usize>,
        /// `max-name-length`, in bytes, by default 1024: how long the name of a class, a field or a type may be.
        max_name_length: Option<usize>,
        /// `lone-surrogates`, by default `replace`: what is done with half of a surrogate pair, which Java can send and Rust
        /// cannot hold.
        lone_surrogates: Option<LoneSurrogates>,
        /// `class-check`: `off`, `warn` or `strict`. By default `strict` with `allow-classes`; without, every class but
        /// those of `deny-classes` is allowed.
        class_check: Option<CheckMode>,
        /// `allow-classes`: what the names of the classes begin with that may become Rust types, such as `com.example.`; `$`
        /// is as good as `.`.
        allow_classes: Option<Vec<String>>,
        /// `deny-classes`: what the names of the classes begin with that must not, in upper or lower case. Stronger than
        /// `allow-classes`.
        deny_classes: Option<Vec<String>>,
    }
}

impl Hessian2Config {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            max_depth: s.integer("max-depth", 1..=MAX_DEPTH),
            max_nodes: s.integer("max-nodes", 1..=MOST),
            max_expansion: s.size("max-expansion"),
            max_classes: s.integer("max-classes", 1..=MOST),
            max_fields: s.integer("max-fields", 1..=MOST),
            max_name_length: s.integer("max-name-length", 1..=MOST),
            lone_surrogates: s.choice(
                "lone-surrogates",
                &[
                    ("replace", LoneSurrogates::Replace),
                    ("refuse", LoneSurrogates::Refuse),
                ],
            ),
            class_check: s.choice(
                "class-check",
                &[
                    ("off", CheckMode::Off),
                    ("warn", CheckMode::Warn),
                    ("strict", CheckMode::Strict),
                ],
            ),
            allow_classes: read_prefixes(s, "allow-classes"),
            deny_classes: read_prefixes(s, "deny-classes"),
        }
    }

    /// The same, as protocols get it.
    pub(crate) fn options(&self) -> DecodeOptions {
        let usual = Limits::DEFAULT;
        let expansion = self.max_expansion.map(usize::try_from);
        DecodeOptions {
            limits: Limits {
                depth: self.max_depth.unwrap_or(usual.depth),
                nodes: self.max_nodes.unwrap_or(usual.nodes),
                expansion: expansion.map_or(usual.expansion, |bytes| bytes.unwrap_or(usize::MAX)),
                classes: self.max_classes.unwrap_or(usual.classes),
                fields: self.max_fields.unwrap_or(usual.fields),
                name: self.max_name_length.unwrap_or(usual.name),
            },
            lone_surrogates: self.lone_surrogates.unwrap_or_default(),
            classes: self.policy().map(Arc::new),
        }
    }

    fn policy(&self) -> Option<ClassPolicy> {
        let allowed = self.allow_classes.as_deref();
        let denied = self.deny_classes.as_deref();
        let policy = match (self.class_check, allowed, denied) {
            (Some(mode), ..) => ClassPolicy::new(mode),
            (None, None, None) => return None,
            (None, Some(_), _) => ClassPolicy::new(CheckMode::Strict),
            // All classes begin with nothing.
            (None, None, Some(_)) => ClassPolicy::new(CheckMode::Strict).allow(""),
        };
        let policy = allowed
            .unwrap_or_default()
            .iter()
            .fold(policy, ClassPolicy::allow);
        Some(
            denied
                .unwrap_or_default()
                .iter()
                .fold(policy, ClassPolicy::deny),
        )
    }
}

/// Names are compared from their beginnings; a star would be part of one.
fn read_prefixes(s: &mut Section<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let prefixes = s.list(key)?;
    if let Some(pattern) = prefixes.iter().find(|prefix| prefix.contains('*')) {
        let message = format!(
            "`{pattern}` is what no class begins with: write the beginning of the name alone, such as `com.example.`"
        );
        s.error(key, ProblemKind::Type, message);
    }
    Some(prefixes)
}

/// More than any message has.
const MOST: usize = 2_147_483_647;
