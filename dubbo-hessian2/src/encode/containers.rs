//! Lists, maps, objects and references (`docs/spec/hessian2.md` §3 to §7).

use super::{ArrayLists, Encoder, table::ClassKey};
use crate::{Class, EncodeError, Shape, ToHessian};

impl Encoder {
    /// Begins a list: exactly `len` values follow. Takes a reference number.
    ///
    /// # Panics
    ///
    /// When `len` is more than `i32::MAX`, Java's longest; the implementations of [`ToHessian`] give an error for it.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    pub fn begin_list(&mut self, type_name: Option<&str>, len: usize) {
        let length = i32::try_from(len).expect("a list is no longer than i32::MAX");
        self.container();
        let type_name = type_name.or(match self.options.array_lists {
            ArrayLists::Typed => Some("java.util.ArrayList"),
            ArrayLists::Untyped => None,
        });
        match (type_name, len) {
            (None, 0..=7) => self.buffer.push(0x78 + len as u8),
            (None, _) => {
                self.buffer.push(b'X');
                self.int(length);
            }
            (Some(name), 0..=7) => {
                self.buffer.push(0x70 + len as u8);
                self.type_name(name);
            }
            (Some(name), _) => {
                self.buffer.push(b'V');
                self.type_name(name);
                self.int(length);
            }
        }
    }

    /// Begins a map: a key, its value, the next key and so on follow, and then [`end_map`](Self::end_map). Takes a
    /// reference number.
    pub fn begin_map(&mut self, type_name: Option<&str>) {
        self.container();
        match type_name {
            None => self.buffer.push(b'H'),
            Some(name) => {
                self.buffer.push(b'M');
                self.type_name(name);
            }
        }
    }

    /// Ends the map that was begun last.
    pub fn end_map(&mut self) {
        self.buffer.push(b'Z');
    }

    /// Begins an object: one value for each field of `shape` follows, in their order. Takes a reference number.
    ///
    /// The class is defined before its first object.
    pub fn begin_object(&mut self, shape: &'static Shape) {
        self.object(std::ptr::from_ref(shape).addr(), || ClassKey::Static(shape));
    }

    /// The same for a class that is known at run time only.
    pub fn begin_class(&mut self, class: &Class) {
        self.object(class.address(), || ClassKey::Runtime(class.clone()));
    }

    /// Writes a reference to the container that was begun under `identity`, an address for example, and returns
    /// true; or returns false, and the container that is begun next is remembered under it.
    ///
    /// An identity must keep its meaning while this encoder lives: the thing at an address must not be dropped.
    pub fn reference(&mut self, identity: usize) -> bool {
        if let Some(index) = self.identities.find(&identity) {
            self.buffer.push(b'Q');
            self.int(signed(index));
            return true;
        }
        self.identity = Some(identity);
        false
    }

    /// No container was begun for the last identity.
    pub(crate) fn forget_identity(&mut self) {
        self.identity = None;
    }

    /// Begins a list that ends with [`end_map`](Self::end_map): the form of a Java iterator.
    pub(crate) fn begin_variable_list(&mut self, type_name: Option<&str>) {
        self.container();
        match type_name {
            None => self.buffer.push(b'W'),
            Some(name) => {
                self.buffer.push(b'U');
                self.type_name(name);
            }
        }
    }

    /// A list of `items`.
    pub(crate) fn items<T: ToHessian>(
        &mut self,
        type_name: Option<&str>,
        items: &[T],
    ) -> Result<(), EncodeError> {
        self.collection(type_name, items.len(), items)
    }

    /// A list of the `len` items of a collection.
    pub(crate) fn collection<'t, T: ToHessian + 't>(
        &mut self,
        type_name: Option<&str>,
        len: usize,
        items: impl IntoIterator<Item = &'t T>,
    ) -> Result<(), EncodeError> {
        if i32::try_from(len).is_err() {
            return Err(EncodeError::length(len));
        }
        self.enter()?;
        self.begin_list(type_name, len);
        for item in items {
            item.encode(self)?;
        }
        self.leave();
        Ok(())
    }

    fn object(&mut self, address: usize, key: impl FnOnce() -> ClassKey) {
        let index = if self.last_class.0 == address {
            self.last_class.1
        } else {
            let known = self.class_addresses.find(&address);
            let index = known.unwrap_or_else(|| self.class(key()));
            self.last_class = (address, index);
            index
        };
        self.container();
        match u8::try_from(index) {
            Ok(index @ 0..=15) => self.buffer.push(0x60 + index),
            _ => {
                self.buffer.push(b'O');
                self.int(signed(index));
            }
        }
    }

    /// The number of a class whose address is new, defined if it is new too.
    fn class(&mut self, key: ClassKey) -> u32 {
        let address = key.address();
        let index = self.classes.find(&key).unwrap_or_else(|| {
            let index = self.classes.next();
            self.buffer.push(b'C');
            self.str(key.name());
            self.int(i32::try_from(key.len()).unwrap_or(i32::MAX));
            for field in 0..key.len() {
                self.str(key.field(field));
            }
            self.classes.insert(key.clone(), index);
            index
        });
        if let ClassKey::Runtime(class) = key {
            // The table keeps one class of equal ones; the address of this one must stay its own as well.
            self.keep(std::sync::Arc::new(class));
        }
        self.class_addresses.insert(address, index);
        index
    }

    fn type_name(&mut self, name: &str) {
        if let Some(index) = self.types.find(name) {
            return self.int(signed(index));
        }
        let index = self.types.next();
        self.types.insert(name.into(), index);
        self.str(name);
    }

    /// Counts a container and remembers it under the identity that waits.
    fn container(&mut self) {
        if let Some(identity) = self.identity.take() {
            self.identities.insert(identity, self.containers);
        }
        self.containers += 1;
    }
}

/// A number of a table as it is written.
fn signed(index: u32) -> i32 {
    i32::try_from(index)
        .expect("invariant: each entry of a table took a byte of a buffer of at most 2 GiB")
}
