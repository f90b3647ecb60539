//! What a peer may send.

use std::sync::Arc;

use crate::policy::ClassPolicy;

/// How a [`Decoder`](crate::Decoder) reads.
#[derive(Debug, Clone, Default)]
pub struct DecodeOptions {
    /// What a message may cost.
    pub limits: Limits,
    /// What to do with half of a surrogate pair, which Java can write and a Rust string cannot hold.
    pub lone_surrogates: LoneSurrogates,
    /// Which classes may become Rust types. All, when absent.
    pub classes: Option<Arc<ClassPolicy>>,
}

/// What one message may cost (`docs/spec/hessian2.md` §18). More is an error, before anything is allocated for it.
///
/// Lengths need no limits of their own: what is claimed must be there, each element and each unit of text being a byte
/// at least, and nothing is reserved for more than 1024 elements ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep lists, maps and objects may nest, what is reached through references included. Default 128; more than
    /// [`MAX_DEPTH`] counts as that.
    pub depth: usize,
    /// How many things there may be that take much more memory than bytes: lists, maps, objects, names of fields, values
    /// inside a [`Value`](crate::Value), and nulls in the place of large structs. Default 1 000 000.
    pub nodes: usize,
    /// How many bytes may be read again, because references stand for plain Rust values, which are not shared.
    /// Default 8 MiB.
    pub expansion: usize,
    /// How many classes may be defined. Default 4096.
    pub classes: usize,
    /// How many fields a class may have. Default 4096.
    pub fields: usize,
    /// How many bytes the name of a class, a field or a type may have. Default 1024.
    pub name: usize,
}

/// What to do with half of a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoneSurrogates {
    /// Read U+FFFD in its place.
    #[default]
    Replace,
    /// Fail.
    Refuse,
}

impl DecodeOptions {
    /// The defaults, as a constant.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        lone_surrogates: LoneSurrogates::Replace,
        classes: None,
    };
}

impl Limits {
    /// The defaults, as a constant.
    pub const DEFAULT: Self = Self {
        depth: 128,
        nodes: 1_000_000,
        expansion: 8 << 20,
        classes: 4096,
        fields: 4096,
        name: 1024,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The deepest nesting that [`Limits::depth`] can allow and that is written.
///
/// Reading and writing recurse, and a thread with a stack of 2 MiB must be able to. So either fails as well once it
/// has taken 1 MiB of it, which structs of many fields do before they nest this deep in a build without optimization.
pub const MAX_DEPTH: usize = 512;

/// For what this process itself wrote: it may be anything, and references in it may still stand for too much.
pub(crate) static OWN_OPTIONS: DecodeOptions = DecodeOptions {
    limits: Limits {
        depth: MAX_DEPTH,
        nodes: usize::MAX,
        classes: usize::MAX,
        fields: usize::MAX,
        name: usize::MAX,
        ..Limits::DEFAULT
    },
    ..DecodeOptions::DEFAULT
};

/// How much of the stack nested values take, from the outermost to the innermost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stack {
    /// An address in the frame of the outermost.
    outermost: usize,
}

impl Stack {
    /// Begins with the outermost value.
    #[inline]
    pub(crate) fn start(&mut self) {
        self.outermost = address();
    }

    /// Whether there is still room for another value.
    #[inline]
    pub(crate) fn has_room(self) -> bool {
        self.outermost.abs_diff(address()) < STACK
    }
}

/// An address in the frame of the caller, give or take.
#[inline]
fn address() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

/// How much of the stack nested values may take.
const STACK: usize = 1 << 20;

/// How many elements are reserved before they are read.
pub(crate) const RESERVED_ELEMENTS: usize = 1024;

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, fmt::Debug, thread};

    use super::{DecodeOptions, Limits, MAX_DEPTH};
    use crate::{Decoder, FromHessian, Hessian, Shared, ToHessian, Value, to_vec};

    /// All fields of a class are on the stack while it is read, so this one has many.
    macro_rules! node {
        ($($field:ident)*) => {
            #[derive(Debug, Hessian)]
            #[hessian(class = "Node")]
            struct Node {
                next: Option<Box<Self>>,
                children: Vec<Self>,
                named: HashMap<String, Self>,
                text: String,
                $($field: Option<String>,)*
            }
        };
    }

    node! { a b c d e f g h i j k l m n o p q r s t u v w x y z }

    #[derive(Debug, Hessian)]
    #[hessian(class = "Link")]
    struct Link {
        next: Option<Shared<Self>>,
    }

    #[test]
    fn the_deepest_values_fit_a_stack_of_two_mebibytes() {
        fn check<T: FromHessian + ToHessian + Debug>(what: &str, bytes: &[u8]) {
            let options = DecodeOptions {
                limits: Limits {
                    depth: usize::MAX,
                    ..Limits::DEFAULT
                },
                ..DecodeOptions::DEFAULT
            };
            let value = match T::decode(&mut Decoder::with_options(bytes, &options)) {
                Ok(value) => value,
                Err(error) => return assert!(error.is_limit(), "{what}: {error}"),
            };
            // Writing may take more of the stack than reading.
            if let Ok(written) = to_vec(&value) {
                assert!(written.len() >= bytes.len(), "{what}");
            }
            assert!(!format!("{value:?}").is_empty());
        }
        fn nested(depth: usize, open: &[u8], inner: &[u8], close: &[u8]) -> Vec<u8> {
            [open.repeat(depth), inner.to_vec(), close.repeat(depth)].concat()
        }
        let in_class = |class: &[u8], bytes: Vec<u8>| [class, &bytes].concat();
        let node = b"C\x04Node\x94\x04next\x08children\x05named\x04text";
        let run = move || {
            let depth = MAX_DEPTH - 1;
            check::<Value>("lists", &nested(depth, b"\x79", b"\x78", b""));
            check::<Value>("keys", &nested(depth, b"H", b"HZ", b"\x90Z"));
            let objects = in_class(b"C\x01A\x91\x01b", nested(depth, b"\x60", b"\x78", b""));
            check::<Value>("objects", &objects);
            let inner = [&b"\x60N\x78HZ"[..], b"\x00"].concat();
            let boxes = in_class(node, nested(depth - 1, b"\x60", &inner, b"\x78HZ\x00"));
            check::<Node>("boxes", &boxes);
            let lists = in_class(node, nested(depth / 2 - 1, b"\x60N\x79", &inner, b"HZ\x00"));
            check::<Node>("lists of structs", &lists);
            let maps = in_class(
                node,
                nested(depth / 2 - 1, b"\x60N\x78H\x01a", &inner, b"Z\x00"),
            );
            check::<Node>("maps of structs", &maps);
            let links = in_class(
                b"C\x04Link\x91\x04next",
                nested(depth, b"\x60", b"\x60N", b""),
            );
            check::<Link>("handles", &links);
            let skipped = nested(depth, b"\x79", b"\x78", b"");
            let mut decoder = Decoder::with_options(&skipped, &super::OWN_OPTIONS);
            decoder.skip().expect("skips");
        };
        let thread = thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(run)
            .expect("spawns");
        thread.join().expect("neither overflows nor fails");
    }

    #[test]
    fn what_is_deeper_than_the_deepest_is_refused_both_ways() {
        let mut value = Value::list([]);
        for _ in 0..MAX_DEPTH {
            value = Value::list([value]);
        }
        let error = to_vec(&value).expect_err("too deep");
        assert!(error.to_string().contains("512"), "{error}");
        let mut bytes = vec![0x79; MAX_DEPTH];
        bytes.push(0x78);
        let error = Decoder::with_options(&bytes, &super::OWN_OPTIONS)
            .value()
            .expect_err("too deep");
        assert!(error.is_limit(), "{error}");
    }
}
