//! Nested values and the stack of the thread that reads or writes them.

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

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, fmt::Debug, thread};

    use crate::limits::{DecodeOptions, Limits, MAX_DEPTH, OWN_OPTIONS};
    use crate::{
        Decoder, FromHessian, Hessian, Shared, ToHessian, Value, from_slice,
        java::{BigInteger, LocalDateTime},
        to_vec,
        value::own_bytes,
    };

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
            if let Ok(written) = own_bytes(&value) {
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
            let mut decoder = Decoder::with_options(&skipped, &OWN_OPTIONS);
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
        let error = own_bytes(&value).expect_err("too deep");
        assert!(error.to_string().contains("512"), "{error}");
        let mut bytes = vec![0x79; MAX_DEPTH];
        bytes.push(0x78);
        let error = Decoder::with_options(&bytes, &OWN_OPTIONS)
            .value()
            .expect_err("too deep");
        assert!(error.is_limit(), "{error}");
    }

    #[derive(Debug, Default, Hessian)]
    #[hessian(class = "Tree")]
    struct Tree {
        next: Option<Box<Self>>,
        children: Vec<Self>,
        named: HashMap<String, Self>,
        number: Option<BigInteger>,
        time: Option<LocalDateTime>,
    }

    /// What is written by default is read by default, and what is not is too deep to be.
    #[test]
    fn as_much_is_written_as_is_read() {
        fn check<T: FromHessian + ToHessian>(what: &str, build: impl Fn(usize) -> T) {
            let written = |depth: &usize| to_vec(&build(*depth)).ok();
            let deepest = (1..1000).take_while(|depth| written(depth).is_some());
            let deepest = deepest.last().expect("some depth");
            let bytes = to_vec(&build(deepest)).expect("encodes");
            assert!(from_slice::<T>(&bytes).is_ok(), "{what} of {deepest}");
            let bytes = own_bytes(&build(deepest + 1)).expect("encodes");
            let error = from_slice::<T>(&bytes).err().expect(what);
            assert!(error.is_limit(), "{what} of {deepest} and one: {error}");
        }
        fn tree(depth: usize, innermost: Tree, wrap: fn(Tree) -> Tree) -> Tree {
            (0..depth).fold(innermost, |inner, _| wrap(inner))
        }
        let boxed = |inner| Tree {
            next: Some(Box::new(inner)),
            ..Tree::default()
        };
        check("values", |depth| {
            (0..depth).fold(Value::list([]), |inner, _| Value::list([inner]))
        });
        check("boxes", |depth| tree(depth, Tree::default(), boxed));
        check("lists", |depth| {
            tree(depth, Tree::default(), |inner| Tree {
                children: vec![inner],
                ..Tree::default()
            })
        });
        check("maps", |depth| {
            tree(depth, Tree::default(), |inner| Tree {
                named: HashMap::from([("a".to_owned(), inner)]),
                ..Tree::default()
            })
        });
        check("numbers", |depth| {
            let innermost = Tree {
                number: Some(7.into()),
                ..Tree::default()
            };
            tree(depth, innermost, boxed)
        });
        check("times", |depth| {
            let innermost = Tree {
                time: Some("2024-02-29T01:02:03".parse().expect("a time")),
                ..Tree::default()
            };
            tree(depth, innermost, boxed)
        });
        check("handles", |depth| {
            (0..depth).fold(Link { next: None }, |inner, _| Link {
                next: Some(Shared::new(inner)),
            })
        });
    }
}
