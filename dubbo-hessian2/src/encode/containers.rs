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
        if let Ok(index @ 0..=15) = u8::try_from(index) {
            self.buffer.push(0x60 + index);
        } else {
            self.buffer.push(b'O');
            self.int(signed(index));
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
        self.containers = self.containers.saturating_add(1);
    }
}

/// A number of a table as it is written.
fn signed(index: u32) -> i32 {
    i32::try_from(index).expect(
        "invariant: a message of less than 2 GiB has fewer entries than i32::MAX in any table",
    )
}

#[cfg(test)]
mod tests {
    use crate::{ArrayLists, Class, EncodeOptions, Encoder, Shape, ToHessian, Value, to_vec};

    #[test]
    fn a_class_is_defined_once_wherever_it_is_known_from() {
        static SHAPE: Shape = Shape {
            class: "A",
            fields: &["b"],
        };
        static EQUAL: Shape = Shape {
            class: "A",
            fields: &["b"],
        };
        let mut encoder = Encoder::new();
        encoder.begin_object(&SHAPE);
        encoder.null();
        encoder.begin_class(&Class::new("A", ["b"]));
        encoder.null();
        encoder.begin_object(&EQUAL);
        encoder.null();
        // The same name with other fields is another class.
        encoder.begin_class(&Class::new("A", ["b", "c"]));
        assert_eq!(
            encoder.as_bytes(),
            b"C\x01A\x91\x01b\x60N\x60N\x60NC\x01A\x92\x01b\x01c\x61"
        );
    }

    #[test]
    fn classes_beyond_the_sixteenth_have_a_number_of_their_own() {
        let classes: Vec<Class> = (0..40)
            .map(|index| Class::new(format!("A{index}"), [""; 0]))
            .collect();
        let mut encoder = Encoder::new();
        for class in &classes {
            encoder.begin_class(class);
        }
        assert!(encoder.as_bytes().ends_with(b"C\x03A39\x90O\xb7"));
        let defined = encoder.as_bytes().len();
        // Clones, equal ones, and those that were written first: each is found, however many there are.
        for (class, expected) in [
            (0, &b"\x60"[..]),
            (15, b"\x6f"),
            (16, b"O\xa0"),
            (39, b"O\xb7"),
        ] {
            for class in [
                classes[class].clone(),
                Class::new(format!("A{class}"), [""; 0]),
            ] {
                let before = encoder.as_bytes().len();
                encoder.begin_class(&class);
                assert_eq!(&encoder.as_bytes()[before..], expected);
            }
        }
        assert_eq!(encoder.as_bytes().len(), defined + 2 * (1 + 1 + 2 + 2));
    }

    #[test]
    fn lists_and_maps_share_one_table_of_types() {
        let mut encoder = Encoder::new();
        encoder.begin_list(Some("[int"), 0);
        encoder.begin_map(Some("T"));
        encoder.end_map();
        encoder.begin_list(Some("T"), 8);
        encoder.begin_list(Some("[int"), 1);
        assert_eq!(encoder.as_bytes(), b"\x70\x04[intM\x01TZV\x91\x98\x71\x90");
    }

    #[test]
    fn a_list_without_a_type_is_an_array_list_for_old_peers() {
        let options = EncodeOptions {
            array_lists: ArrayLists::Typed,
            ..EncodeOptions::default()
        };
        let mut encoder = Encoder::with_options(options);
        vec![vec![1], vec![2]]
            .encode(&mut encoder)
            .expect("encodes");
        assert_eq!(
            encoder.as_bytes(),
            b"\x72\x13java.util.ArrayList\x71\x90\x91\x71\x90\x92"
        );
    }

    #[test]
    fn a_container_is_referred_to_by_what_it_was_begun_under() {
        let mut encoder = Encoder::new();
        assert!(!encoder.reference(7));
        encoder.begin_list(None, 1);
        encoder.begin_map(None);
        encoder.end_map();
        assert!(!encoder.reference(8));
        encoder.begin_map(None);
        assert!(encoder.reference(7));
        assert!(encoder.reference(8));
        encoder.end_map();
        assert_eq!(encoder.as_bytes(), b"\x79HZHQ\x90Q\x92Z");
    }

    #[test]
    fn an_address_that_is_used_again_is_no_reference() {
        struct Temporary;
        impl ToHessian for Temporary {
            fn encode(&self, encoder: &mut Encoder) -> Result<(), crate::EncodeError> {
                let shared = Value::list([]);
                Value::list([shared.clone(), shared]).encode(encoder)
            }
        }
        let bytes = to_vec(&[Temporary, Temporary, Temporary]).expect("encodes");
        assert_eq!(bytes, b"\x7b\x7a\x78Q\x92\x7a\x78Q\x94\x7a\x78Q\x96");
    }
}
