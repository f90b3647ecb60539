//! Which classes may become Rust types.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

/// Which classes may become Rust types, as Dubbo's serialization check (`docs/spec/dubbo-protocol.md` §15).
///
/// Java's own classes, and those that Dubbo itself sends, are allowed unless they are denied: nothing here is ever made by
/// name.
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
    /// Whether each was refused.
    logged: Mutex<HashMap<Box<str>, bool>>,
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
        self.denied
            .push(dotted(prefix.as_ref()).to_ascii_lowercase());
        self
    }

    /// How many messages objects of a refused class were read from, each time for each class.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How strictly classes are checked.
    pub fn mode(&self) -> CheckMode {
        self.mode
    }

    /// What the names of allowed classes begin with, beside Java's own and Dubbo's.
    pub fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// What the names of denied classes begin with, in lower case.
    pub fn denied(&self) -> &[String] {
        &self.denied
    }

    /// The classes that were logged so far, by name, and whether each was refused; no more than the first 1,024.
    pub fn logged(&self) -> Vec<(String, bool)> {
        let logged = self.logged.lock();
        let mut all: Vec<_> = logged
            .iter()
            .map(|(class, refused)| (class.to_string(), *refused))
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether objects of `class` may become Rust types. Called once for each class that a message has objects of.
    pub(crate) fn admits(&self, class: &str) -> bool {
        if self.mode == CheckMode::Off {
            return true;
        }
        let denied = self
            .denied
            .iter()
            .any(|prefix| starts(class, prefix, u8::to_ascii_lowercase));
        let allowed = self
            .allowed
            .iter()
            .any(|prefix| starts(class, prefix, |byte| *byte));
        if !denied && (allowed || is_built_in(class)) {
            return true;
        }
        let refused = denied || self.mode == CheckMode::Strict;
        if refused {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        if (refused || self.mode == CheckMode::Warn) && self.is_new(class, refused) {
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

    fn is_new(&self, class: &str, refused: bool) -> bool {
        let mut logged = self.logged.lock();
        // A hostile peer can make up names without end.
        let is_new = logged.len() < LOGGED_CLASSES && !logged.contains_key(class);
        if is_new {
            logged.insert(class.into(), refused);
        }
        is_new
    }
}

fn dotted(name: &str) -> String {
    name.replace('$', ".")
}

/// Whether `class`, dotted and folded, starts with `prefix`, which is.
fn starts(class: &str, prefix: &str, fold: fn(&u8) -> u8) -> bool {
    let class = class
        .bytes()
        .map(|byte| if byte == b'$' { b'.' } else { fold(&byte) });
    class.take(prefix.len()).eq(prefix.bytes())
}

/// What Java itself brings, and what stands for it on the wire: exceptions reach us from any method, dates and numbers
/// are in any class, and all of them are plain data here.
///
/// Dubbo's own are the exceptions of its framework and the descriptors of generic calls.
fn is_built_in(class: &str) -> bool {
    BUILT_IN.iter().any(|prefix| class.starts_with(prefix))
}

const BUILT_IN: [&str; 7] = [
    "com.alibaba.com.caucho.hessian.io.",
    "com.alibaba.dubbo.rpc.",
    "java.",
    "javax.",
    "org.apache.dubbo.common.beanutil.JavaBeanDescriptor",
    "org.apache.dubbo.metadata.MetadataInfo",
    "org.apache.dubbo.rpc.",
];

const LOGGED_CLASSES: usize = 1024;

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, io::Write, sync::Arc};

    use parking_lot::Mutex;

    use super::{CheckMode, ClassPolicy, LOGGED_CLASSES};
    use crate::{DecodeOptions, Decoder, FromHessian, Hessian, Value};

    fn policy(mode: CheckMode) -> ClassPolicy {
        ClassPolicy::new(mode)
            .allow("com.x.")
            .allow("java.util.")
            .deny("com.x.evil.")
            .deny("org.Evil$")
    }

    #[test]
    fn a_mode_decides_about_what_is_in_no_list() {
        for (class, off, warn, strict) in [
            ("com.x.User", true, true, true),
            ("com.x.User$Role", true, true, true),
            ("com.xy.User", true, true, false),
            ("com.x.evil.Gadget", true, false, false),
            ("COM.X.Evil.Gadget", true, false, false),
            ("org.evil.Gadget", true, false, false),
            ("java.lang.IllegalStateException", true, true, true),
            ("java.lang.OutOfMemoryError", true, true, true),
            ("java.lang.Throwable", true, true, true),
            (
                "com.alibaba.com.caucho.hessian.io.java8.InstantHandle",
                true,
                true,
                true,
            ),
            ("javas.Gadget", true, true, false),
            ("org.apache.dubbo.rpc.RpcException", true, true, true),
            ("org.apache.dubbo.metadata.MetadataInfo", true, true, true),
            (
                "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo",
                true,
                true,
                true,
            ),
            ("org.apache.dubbo.Gadget", true, true, false),
            ("com.y.MyException", true, true, false),
            ("", true, true, false),
        ] {
            for (mode, admitted) in [
                (CheckMode::Off, off),
                (CheckMode::Warn, warn),
                (CheckMode::Strict, strict),
            ] {
                let policy = policy(mode);
                assert_eq!(policy.admits(class), admitted, "{class}, {mode:?}");
                assert_eq!(policy.refused(), u64::from(!admitted), "{class}, {mode:?}");
            }
        }
    }

    #[derive(Debug, Hessian)]
    #[hessian(class = "com.x.evil.A")]
    struct A {
        x: i32,
    }

    #[test]
    fn a_refused_class_is_data_and_no_rust_type() {
        let policy = Arc::new(policy(CheckMode::Strict));
        let options = DecodeOptions {
            classes: Some(Arc::clone(&policy)),
            ..DecodeOptions::DEFAULT
        };
        let bytes = b"C\x0ccom.x.evil.A\x91\x01x\x60\x91";
        let error = A::decode(&mut Decoder::with_options(bytes, &options)).expect_err("refused");
        assert!(error.is_refused(), "{error}");
        assert!(error.to_string().contains("com.x.evil.A"), "{error}");
        let value = Value::decode(&mut Decoder::with_options(bytes, &options)).expect("data");
        assert_eq!(value, Value::object("com.x.evil.A", [("x", 1.into())]));
        assert_eq!(policy.refused(), 2);
        let map = HashMap::<String, i32>::decode(&mut Decoder::with_options(bytes, &options));
        assert_eq!(map.expect("data"), HashMap::from([("x".to_owned(), 1)]));
        assert_eq!(policy.refused(), 3);
        // What is passed over is nothing yet.
        assert!(Decoder::with_options(bytes, &options).skip().is_ok());
        assert_eq!(policy.refused(), 3);
        // The class that is sent counts, not the one that is expected.
        let allowed = b"C\x07com.x.B\x91\x01x\x60\x91";
        assert_eq!(
            A::decode(&mut Decoder::with_options(allowed, &options))
                .expect("reads")
                .x,
            1
        );
    }

    #[test]
    fn each_refused_class_is_logged_once_and_not_without_end() {
        #[derive(Clone, Default)]
        struct Log(Arc<Mutex<Vec<u8>>>);

        impl Write for Log {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().write(bytes)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }

        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let policy = policy(CheckMode::Strict);
        tracing::subscriber::with_default(subscriber, || {
            for index in 0..3 * LOGGED_CLASSES {
                policy.admits("com.y.First");
                policy.admits(&format!("com.z.Class{index}"));
            }
        });
        let log = log.0.lock();
        let log = String::from_utf8_lossy(&log);
        assert_eq!(log.lines().count(), LOGGED_CLASSES);
        let first: Vec<_> = log
            .lines()
            .filter(|line| line.contains("com.y.First"))
            .collect();
        assert_eq!(first.len(), 1);
        assert!(first[0].contains("dubbo::hessian::audit"), "{}", first[0]);
        assert_eq!(policy.refused(), 6 * LOGGED_CLASSES as u64);
        let logged = policy.logged();
        assert_eq!(logged.len(), LOGGED_CLASSES);
        assert_eq!(logged[0], ("com.y.First".to_owned(), true));
    }

    #[test]
    fn a_class_that_is_read_with_a_warning_is_told_from_one_that_is_refused() {
        let policy = policy(CheckMode::Warn);
        for class in ["com.x.User", "com.y.User", "com.x.evil.A"] {
            policy.admits(class);
        }
        let want = [("com.x.evil.A", true), ("com.y.User", false)];
        assert_eq!(
            policy.logged(),
            want.map(|(class, refused)| (class.to_owned(), refused))
        );
        assert_eq!(policy.allowed(), ["com.x.", "java.util."]);
        assert_eq!(policy.denied(), ["com.x.evil.", "org.evil."]);
    }
}
