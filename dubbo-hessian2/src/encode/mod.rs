//! Writing.

mod containers;
mod numbers;
mod options;
mod table;
mod text;

use std::{any::Any, sync::Arc};

pub use self::options::{ArrayLists, EncodeOptions};
use self::table::{ClassKey, Table};
use crate::{EncodeError, limits::MAX_DEPTH, stack::Stack};

/// Writes values one after another into a buffer, in the shortest forms, as Java does (`docs/spec/hessian2.md`).
///
/// The values share one table of classes, one of types and one of references, as those of one Dubbo message do.
///
/// ```
/// use dubbo_hessian2::Encoder;
///
/// let mut encoder = Encoder::new();
/// encoder.begin_list(Some("java.util.LinkedList"), 1);
/// encoder.str("a");
/// assert_eq!(encoder.as_bytes(), b"\x71\x14java.util.LinkedList\x01a");
/// ```
pub struct Encoder {
    buffer: Vec<u8>,
    options: EncodeOptions,
    classes: Table<ClassKey>,
    /// Addresses of shapes and classes that were written: faster to find than what they hold.
    class_addresses: Table<usize>,
    /// Address and index of the class of the last object.
    last_class: (usize, u32),
    types: Table<Box<str>>,
    identities: Table<usize>,
    /// What the next container is to be remembered under.
    identity: Option<usize>,
    /// How many containers were begun.
    containers: u32,
    /// How many containers are being written, one inside the other.
    depth: usize,
    /// The same with boxes and handles, which are no level on the wire.
    frames: usize,
    stack: Stack,
    /// Whatever an identity was taken from: an address that is free could be taken by another value.
    kept: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Encoder {
    /// An empty buffer and the default options.
    pub fn new() -> Self {
        Self::with_buffer(Vec::with_capacity(INITIAL_CAPACITY))
    }

    /// The same with these options.
    pub fn with_options(options: EncodeOptions) -> Self {
        Self {
            options,
            ..Self::new()
        }
    }

    /// Writes behind what `buffer` holds.
    pub fn with_buffer(buffer: Vec<u8>) -> Self {
        Self {
            buffer,
            options: EncodeOptions::default(),
            classes: Table::default(),
            class_addresses: Table::default(),
            last_class: (0, 0),
            types: Table::default(),
            identities: Table::default(),
            identity: None,
            containers: 0,
            depth: 0,
            frames: 0,
            stack: Stack::default(),
            kept: Vec::new(),
        }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }

    /// What was written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Enters a container; [`leave`](Self::leave) follows.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(), EncodeError> {
        if self.depth >= self.options.depth.min(MAX_DEPTH) {
            return Err(EncodeError::depth(self.depth));
        }
        self.enter_frame()?;
        self.depth += 1;
        Ok(())
    }

    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
        self.leave_frame();
    }

    /// Enters what is no container, but leads to others of its kind; [`leave_frame`](Self::leave_frame) follows.
    #[inline]
    pub(crate) fn enter_frame(&mut self) -> Result<(), EncodeError> {
        if self.frames == 0 {
            self.stack.start();
        } else if !self.stack.has_room() {
            return Err(EncodeError::stack());
        }
        self.frames += 1;
        Ok(())
    }

    #[inline]
    pub(crate) fn leave_frame(&mut self) {
        self.frames -= 1;
    }

    /// Keeps `value` alive as long as this encoder, so that its address stays its own.
    pub(crate) fn keep(&mut self, value: Arc<dyn Any + Send + Sync>) {
        self.kept.push(value);
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("bytes", &self.buffer.len())
            .field("containers", &self.containers)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Room for a small object with its class.
const INITIAL_CAPACITY: usize = 256;
