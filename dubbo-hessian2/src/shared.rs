//! Handles to the objects of a graph.

use std::{
    any::Any,
    borrow::Cow,
    cell::RefCell,
    fmt, mem,
    sync::{Arc, OnceLock, Weak},
};

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Types};

/// A handle to a value that several places share, as Java's references do.
///
/// It is written once, and then as a reference. When it is read, references give the same handle again; one that closes
/// a cycle does not keep its target alive, so that cycles are dropped like anything else. Handles are equal when they
/// lead to the same value, not to equal ones.
///
/// ```
/// use dubbo_hessian2::{Shared, from_slice, to_vec};
///
/// let list = Shared::new(vec![1, 2]);
/// let bytes = to_vec(&vec![list.clone(), list])?;
/// assert_eq!(bytes, b"\x7a\x7a\x91\x92\x51\x91");
/// let read: Vec<Shared<Vec<i32>>> = from_slice(&bytes)?;
/// assert_eq!(read[0], read[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<T: Any>(Handle<T>);

enum Handle<T> {
    Owner(Arc<T>),
    /// To a value that encloses this handle, and is there once it was read to its end.
    Back(Arc<OnceLock<Weak<T>>>),
    /// What is left while the handle is dropped.
    Dropped,
}

impl<T: Any> Shared<T> {
    /// A handle to `value`.
    pub fn new(value: T) -> Self {
        Self(Handle::Owner(Arc::new(value)))
    }

    /// A handle to a value that contains handles to itself, which `value` is given; they lead nowhere until it returns.
    pub fn cyclic(value: impl FnOnce(&Self) -> T) -> Self {
        let cell = Arc::new(OnceLock::new());
        let owner = Arc::new(value(&Self(Handle::Back(Arc::clone(&cell)))));
        cell.get_or_init(|| Arc::downgrade(&owner));
        Self(Handle::Owner(owner))
    }

    /// The value. None only for a handle that closes a cycle, when the value that it leads to was dropped, or is still
    /// being read.
    pub fn get(&self) -> Option<Arc<T>> {
        match &self.0 {
            Handle::Owner(value) => Some(Arc::clone(value)),
            Handle::Back(cell) => cell.get().and_then(Weak::upgrade),
            Handle::Dropped => None,
        }
    }

    /// Whether both lead to the same value.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Handle::Back(cell), Handle::Back(other)) if Arc::ptr_eq(cell, other) => true,
            _ => match (self.address(), other.address()) {
                (Some(address), Some(other)) => std::ptr::eq(address, other),
                _ => false,
            },
        }
    }

    fn address(&self) -> Option<*const T> {
        match &self.0 {
            Handle::Owner(value) => Some(Arc::as_ptr(value)),
            Handle::Back(cell) => cell.get().map(Weak::as_ptr),
            Handle::Dropped => None,
        }
    }
}

impl<T: Any> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Handle::Owner(value) => Handle::Owner(Arc::clone(value)),
            Handle::Back(cell) => Handle::Back(Arc::clone(cell)),
            Handle::Dropped => Handle::Dropped,
        })
    }
}

impl<T: Any> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Any> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other)
    }
}

impl<T: Any> Eq for Shared<T> {}

/// The address alone: the value may contain this handle.
impl<T: Any> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.address()).finish()
    }
}

impl<T: ToHessian + Any + Send + Sync> ToHessian for Shared<T> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let value = self.get().ok_or_else(EncodeError::dangling)?;
        if encoder.reference(Arc::as_ptr(&value).addr()) {
            return Ok(());
        }
        encoder.keep(Arc::clone(&value) as Arc<dyn Any + Send + Sync>);
        encoder.enter_frame()?;
        T::encode(&value, encoder)?;
        encoder.leave_frame();
        // A string, say, is no container, and what is begun next is another value.
        encoder.forget_identity();
        Ok(())
    }
}

impl<T: FromHessian + Any + Send + Sync> FromHessian for Shared<T> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.shared(
            |decoder, cell: &Arc<OnceLock<Weak<T>>>| {
                let start = decoder.position();
                let value = Arc::new(T::decode(decoder)?);
                decoder.count_memory(size_of::<T>() + 2 * size_of::<usize>(), start)?;
                cell.get_or_init(|| Arc::downgrade(&value));
                Ok(Self(Handle::Owner(value)))
            },
            |cell| Self(Handle::Back(cell)),
        )
    }

    fn from_null() -> Option<Self> {
        T::from_null().map(Self::new)
    }
}

impl<T: JavaType + Any> JavaType for Shared<T> {
    fn java_name() -> Cow<'static, str> {
        T::java_name()
    }

    fn boxed_name() -> Cow<'static, str> {
        T::boxed_name()
    }

    fn array_type() -> Cow<'static, str> {
        T::array_type()
    }

    fn describe(types: &mut Types) -> Cow<'static, str> {
        T::describe(types)
    }
}

/// Dropping without recursion: through handles, a chain of values can be as long as a message.
impl<T: Any> Drop for Shared<T> {
    fn drop(&mut self) {
        let Handle::Owner(owner) = mem::replace(&mut self.0, Handle::Dropped) else {
            return;
        };
        let Some(value) = Arc::into_inner(owner) else {
            return;
        };
        let value = WAITING.with_borrow_mut(|waiting| match waiting {
            // Inside the drop of another value, which drops this one afterwards.
            Some(values) => {
                values.push(Box::new(value));
                None
            }
            none => {
                *none = Some(Vec::new());
                Some(value)
            }
        });
        if value.is_none() {
            return;
        }
        drop(value);
        while let Some(value) = WAITING.with_borrow_mut(next) {
            drop(value);
        }
    }
}

/// The next of the values that wait; with the last one, the waiting ends.
fn next(waiting: &mut Option<Vec<Box<dyn Any>>>) -> Option<Box<dyn Any>> {
    let value = waiting.as_mut().and_then(Vec::pop);
    if value.is_none() {
        *waiting = None;
    }
    value
}

thread_local! {
    /// The values that wait for the one that is being dropped on this thread.
    static WAITING: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::Shared;
    use crate::{Decoder, FromHessian, Hessian, Value, from_slice, to_vec};

    #[derive(Debug, Hessian)]
    #[hessian(class = "N")]
    struct Node {
        next: Option<Shared<Self>>,
        #[hessian(default)]
        others: Vec<Shared<Self>>,
    }

    #[test]
    fn references_come_back_as_the_same_handle() {
        let leaf = Shared::new(Node {
            next: None,
            others: Vec::new(),
        });
        let other = Shared::new(Node {
            next: Some(leaf.clone()),
            others: vec![leaf.clone()],
        });
        let bytes = to_vec(&vec![other.clone(), leaf, other]).expect("encodes");
        let read: Vec<Shared<Node>> = from_slice(&bytes).expect("reads");
        let node = read[0].get().expect("is there");
        assert_eq!(read[0], read[2]);
        assert_eq!(node.next.as_ref(), Some(&read[1]));
        assert_eq!(node.others, [read[1].clone()]);
        assert_ne!(read[0], read[1]);
        assert_eq!(to_vec(&read).expect("encodes"), bytes);
    }

    #[test]
    fn a_cycle_is_dropped_with_its_owner() {
        let ring = Shared::cyclic(|first| {
            assert!(first.get().is_none(), "it does not exist yet");
            let next = Shared::new(Node {
                next: Some(first.clone()),
                others: vec![first.clone()],
            });
            Node {
                next: Some(next),
                others: vec![first.clone()],
            }
        });
        let bytes = to_vec(&ring).expect("encodes");
        for ring in [ring, from_slice(&bytes).expect("reads")] {
            let first = ring.get().expect("is there");
            let second = first.next.as_ref().and_then(Shared::get).expect("is there");
            assert_eq!(second.next.as_ref(), Some(&ring));
            assert_eq!(
                second
                    .next
                    .as_ref()
                    .and_then(Shared::get)
                    .map(|node| Arc::as_ptr(&node)),
                Some(Arc::as_ptr(&first))
            );
            assert_eq!(second.others, first.others);
            let weak = Arc::downgrade(&first);
            drop((ring, first));
            assert!(weak.upgrade().is_none(), "nothing else keeps it");
            assert!(second.others[0].get().is_none());
            assert!(to_vec(&second.others).is_err(), "there is nothing to write");
        }
    }

    #[test]
    fn a_chain_of_references_is_dropped_without_recursion() {
        // Each node refers to the one before it, so nothing nests on the wire.
        let count = 100_000;
        let mut bytes = b"WC\x01N\x91\x04next\x60N".to_vec();
        for index in 1..count {
            bytes.extend([0x60, 0x51]);
            bytes.extend(to_vec(&index).expect("encodes"));
        }
        bytes.push(b'Z');
        let nodes: Vec<Shared<Node>> = from_slice(&bytes).expect("reads");
        assert_eq!(nodes.len(), 100_000);
        let last = nodes.last().cloned().expect("there are some");
        drop(nodes);
        assert!(
            to_vec(&last).is_err(),
            "it is too deep to be written from its end"
        );
        drop(last);
    }

    #[test]
    fn each_value_of_a_graph_is_dropped_once() {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        struct Counted(Vec<Shared<Self>>);
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let leaf = Shared::new(Counted(Vec::new()));
        let middle = Shared::new(Counted(vec![leaf.clone(), leaf.clone()]));
        let root = Shared::new(Counted(vec![middle.clone(), leaf, middle]));
        assert_eq!(DROPPED.load(Ordering::Relaxed), 0);
        assert_eq!(root.get().map(|root| root.0.len()), Some(3));
        drop(root);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_is_no_container_has_a_handle_as_well() {
        let text = Shared::new("a".to_owned());
        let bytes = to_vec(&(vec![text.clone(), text])).expect("encodes");
        assert_eq!(
            bytes, b"\x7a\x01a\x01a",
            "Java has no references to strings"
        );
        let read: Vec<Shared<String>> = from_slice(&bytes).expect("reads");
        assert_ne!(read[0], read[1]);
        assert_eq!(read[0].get().as_deref().map(String::as_str), Some("a"));
        // A list that is begun after a string is not the string.
        let bytes = to_vec(&Value::list([])).expect("encodes");
        let mut encoder = crate::Encoder::new();
        let text = Shared::new("a".to_owned());
        for _ in 0..2 {
            crate::ToHessian::encode(&text, &mut encoder).expect("encodes");
            crate::ToHessian::encode(&Value::list([]), &mut encoder).expect("encodes");
        }
        assert_eq!(
            encoder.into_bytes(),
            [b"\x01a", &bytes[..], b"\x01a", &bytes].concat()
        );
    }

    #[test]
    fn one_object_may_have_handles_of_several_types() {
        let bytes = b"C\x01N\x91\x04next\x60N\x51\x90\x51\x90\x51\x90";
        let mut decoder = Decoder::new(bytes);
        let node = Shared::<Node>::decode(&mut decoder).expect("reads");
        let value = Shared::<Value>::decode(&mut decoder).expect("reads");
        assert_eq!(Shared::<Node>::decode(&mut decoder).expect("reads"), node);
        assert_eq!(Shared::<Value>::decode(&mut decoder).expect("reads"), value);
    }
}
