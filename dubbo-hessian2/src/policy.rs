//! Which classes may become Rust types.

use std::{
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Which classes may become Rust types, as Dubbo's serialization check (`docs/spec/dubbo-protocol.md` §15).
///
/// Java's own classes are allowed unless they are denied: nothing here is ever made by name.
///
/// A refused class is no error in itself: its objects are read as data, into a [`Value`](crate::Value) or a map. Only
/// reading one as a Rust type fails. Each refused class is logged once, under the target `dubbo::hessian::audit`, and
/// [counted](Self::refused).
#[derive(Debug)]
pub struct ClassPolicy {
    mode: CheckMode,
    allowed: Vec<String>,
    denied: Vec<String>,
    refused: AtomicU64,
    logged: Mutex<HashSet<Box<str>>>,
}

/// How strictly classes are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMode {
    /// Every class may be read (Java's `DISABLE`).
    Off,
    /// Denied classes are refused; others that are not allowed are logged once.
    Warn,
    /// Only allowed classes are read.
    Strict,
}

impl ClassPolicy {
    /// A policy with empty lists.
    pub fn new(mode: CheckMode) -> Self {
        Self {
            mode,
            allowed: Vec::new(),
            denied: Vec::new(),
            refused: AtomicU64::new(0),
            logged: Mutex::default(),
        }
    }

    /// Allows the classes whose names start with `prefix`; `$` counts as `.`.
    pub fn allow(mut self, prefix: impl AsRef<str>) -> Self {
        self.allowed.push(dotted(prefix.as_ref()));
        self
    }

    /// Denies the classes whose names start with `prefix`, upper and lower case alike; `$` counts as `.`.
    ///
    /// Wins over [`allow`](Self::allow).
    pub fn deny(mut self, prefix: impl AsRef<str>) -> Self {
        self.denied.push(dotted(prefix.as_ref()).to_lowercase());
        self
    }

    /// How many times a message named a class that is refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether objects of `class` may become Rust types. Called once for each definition in a message.
    pub(crate) fn admits(&self, class: &str) -> bool {
        if self.mode == CheckMode::Off {
            return true;
        }
        let class = dotted(class);
        let lower = class.to_lowercase();
        let denied = self.denied.iter().any(|prefix| lower.starts_with(prefix));
        let allowed = self.allowed.iter().any(|prefix| class.starts_with(prefix));
        if !denied && (allowed || is_of_java(&class)) {
            return true;
        }
        let refused = denied || self.mode == CheckMode::Strict;
        if refused {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        if (refused || self.mode == CheckMode::Warn) && self.is_new(&class) {
            tracing::warn!(
                target: "dubbo::hessian::audit",
                class,
                refused,
                mode = ?self.mode,
                "a peer sent a class that is not allowed; allow it if it belongs to a service"
            );
        }
        !refused
    }

    fn is_new(&self, class: &str) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        // A hostile peer can make up names without end.
        logged.len() < LOGGED_CLASSES && !logged.contains(class) && logged.insert(class.into())
    }
}

fn dotted(name: &str) -> String {
    name.replace('$', ".")
}

/// What Java itself brings, and what stands for it on the wire: exceptions reach us from any method, dates and numbers
/// are in any class, and all of them are plain data here.
fn is_of_java(class: &str) -> bool {
    ["java.", "javax.", "com.alibaba.com.caucho.hessian.io."]
        .iter()
        .any(|package| class.starts_with(package))
}

const LOGGED_CLASSES: usize = 1024;
