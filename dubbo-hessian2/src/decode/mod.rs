//! Reading.

mod containers;
mod definitions;
mod kind;
mod made;
mod numbers;
mod objects;
mod references;
mod shared;
mod skip;
mod text;
mod value;

use self::{definitions::Definitions, made::Made, references::References};
pub use kind::Kind;

use crate::{
    DecodeError, DecodeOptions, FromHessian, error::Problem, limits::MAX_DEPTH, stack::Stack,
};

/// Reads values one after another from a slice (`docs/spec/hessian2.md`).
///
/// The values share one table of classes, one of types and one of references, as those of one Dubbo message do. One
/// pass: what is read as Rust types is never built as a tree first. A reference to a container that was read before is
/// followed by reading it again where it stands, so owned values are copied and cost
/// [`Limits::expansion`](crate::Limits::expansion); [`Value`](crate::Value) and [`Shared`](crate::Shared) share.
///
/// After an error the decoder stands somewhere inside the value and is of no further use.
///
/// ```
/// use dubbo_hessian2::Decoder;
///
/// let mut decoder = Decoder::new(b"\x72\x04[int\x91\x92\x01a");
/// let numbers = decoder.read_list(Vec::with_capacity, |numbers, decoder| {
///     numbers.push(decoder.int()?);
///     Ok(())
/// })?;
/// assert_eq!(numbers, [1, 2]);
/// assert_eq!(decoder.str()?, "a");
/// assert!(decoder.is_at_end());
/// # Ok::<(), dubbo_hessian2::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct Decoder<'a> {
    input: &'a [u8],
    position: usize,
    options: &'a DecodeOptions,
    definitions: Definitions<'a>,
    references: References,
    made: Made,
    depth: usize,
    max_depth: usize,
    stack: Stack,
    nodes: usize,
    /// Memory that counts, but not yet as a node.
    excess: usize,
    /// The name of a field that is read as the key of a map. While it waits, `position` is the end of the input, where
    /// nothing is read by mistake.
    parked: Option<Parked>,
}

/// The name of a field in the place of a key, and where its value stands.
#[derive(Debug, Clone, Copy)]
struct Parked {
    name: usize,
    value: usize,
}

impl<'a> Decoder<'a> {
    /// Reads from the first byte of `input`, with the default options.
    pub fn new(input: &'a [u8]) -> Self {
        static OPTIONS: DecodeOptions = DecodeOptions::DEFAULT;
        Self::with_options(input, &OPTIONS)
    }

    /// The same with these options.
    pub fn with_options(input: &'a [u8], options: &'a DecodeOptions) -> Self {
        Self {
            input,
            position: 0,
            options,
            definitions: Definitions::default(),
            references: References::default(),
            made: Made::default(),
            depth: 0,
            max_depth: options.limits.depth.min(MAX_DEPTH),
            stack: Stack::default(),
            nodes: 0,
            excess: 0,
            parked: None,
        }
    }

    /// How it reads.
    pub fn options(&self) -> &'a DecodeOptions {
        self.options
    }

    /// The byte that is read next.
    pub fn position(&self) -> usize {
        self.parked.map_or(self.position, |parked| parked.value)
    }

    /// The bytes that were not read yet.
    pub fn remaining(&self) -> &'a [u8] {
        self.input.get(self.position()..).unwrap_or_default()
    }

    /// Whether every byte was read.
    pub fn is_at_end(&self) -> bool {
        self.remaining().is_empty() && self.parked.is_none()
    }

    /// An error unless every byte was read.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.is_at_end() {
            return Ok(());
        }
        let trailing = self.remaining().len();
        Err(DecodeError::new(Problem::Trailing(trailing), self.position))
    }

    /// The kind of the next value. Definitions of classes before it are read; of a reference, it is the kind of what
    /// it refers to.
    pub fn peek(&mut self) -> Result<Kind, DecodeError> {
        let lead = self.lead()?;
        self.kind_of(lead)
    }

    fn kind_of(&self, lead: u8) -> Result<Kind, DecodeError> {
        let target = if lead == REFERENCE {
            self.referenced_lead()?
        } else {
            lead
        };
        Kind::of_lead(target).ok_or_else(|| self.error(Problem::Lead(lead)))
    }

    /// The first byte of the next value, which stays there.
    #[inline]
    fn lead(&mut self) -> Result<u8, DecodeError> {
        match self.input.get(self.position) {
            Some(&lead) if lead != CLASS_DEFINITION => Ok(lead),
            _ => self.lead_behind_definitions(),
        }
    }

    #[cold]
    fn lead_behind_definitions(&mut self) -> Result<u8, DecodeError> {
        if self.parked.is_some() {
            return Ok(PARKED_LEAD);
        }
        loop {
            match self.input.get(self.position) {
                Some(&CLASS_DEFINITION) => self.class_definition()?,
                Some(&lead) => return Ok(lead),
                None => return Err(self.truncated(1)),
            }
        }
    }

    /// The next byte, which stays there: where no class may be defined.
    fn raw_lead(&self) -> Result<u8, DecodeError> {
        self.input
            .get(self.position)
            .copied()
            .ok_or_else(|| self.truncated(1))
    }

    fn rest(&self) -> &'a [u8] {
        self.input.get(self.position..).unwrap_or_default()
    }

    /// The next `N` bytes.
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.position += N;
        Ok(*bytes)
    }

    /// The next `length` bytes.
    fn take_slice(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let Some(bytes) = self.rest().get(..length) else {
            return Err(self.truncated(length));
        };
        self.position += length;
        Ok(bytes)
    }

    /// Counts something that takes much more memory than bytes.
    #[inline]
    pub(crate) fn count_node(&mut self) -> Result<(), DecodeError> {
        self.count_nodes(1)
    }

    #[inline]
    fn count_nodes(&mut self, count: usize) -> Result<(), DecodeError> {
        self.nodes += count;
        self.check(
            self.nodes,
            self.options.limits.nodes,
            "nodes",
            "values in one message",
        )
    }

    /// Reads an element of a collection, and counts its memory.
    #[inline]
    pub(crate) fn element<T: FromHessian>(&mut self) -> Result<T, DecodeError> {
        let start = self.position();
        let value = T::decode(self)?;
        self.count_memory(size_of::<T>(), start)?;
        Ok(value)
    }

    /// Reads an entry of a map, and counts its memory.
    ///
    /// Inlined, so that key and value are made where they stay: moving them costs as much as reading them.
    #[expect(
        clippy::inline_always,
        reason = "a seventh faster in maps of short strings"
    )]
    #[inline(always)]
    pub(crate) fn entry<K: FromHessian, V: FromHessian>(&mut self) -> Result<(K, V), DecodeError> {
        let start = self.position();
        let key = K::decode_key(self)?;
        let entry = (key, V::decode(self)?);
        self.count_memory(size_of::<(K, V)>(), start)?;
        Ok(entry)
    }

    /// Counts what was read from `start` on and takes `size` bytes of memory: a single byte can stand for all of a
    /// large struct.
    #[inline]
    pub(crate) fn count_memory(&mut self, size: usize, start: usize) -> Result<(), DecodeError> {
        if size <= FREE_MEMORY {
            return Ok(());
        }
        let read = self.position().saturating_sub(start);
        match size.saturating_sub(read.saturating_mul(FREE_MEMORY)) {
            0 => Ok(()),
            excess => self.count_excess(excess),
        }
    }

    fn count_excess(&mut self, excess: usize) -> Result<(), DecodeError> {
        self.excess += excess;
        let nodes = self.excess / NODE_MEMORY;
        self.excess %= NODE_MEMORY;
        self.count_nodes(nodes)
    }

    #[inline]
    fn check(
        &self,
        count: usize,
        limit: usize,
        name: &'static str,
        what: &'static str,
    ) -> Result<(), DecodeError> {
        if count <= limit {
            return Ok(());
        }
        Err(self.error(Problem::Limit { what, name, limit }))
    }

    #[cold]
    fn error(&self, problem: Problem) -> DecodeError {
        DecodeError::new(problem, self.position())
    }

    #[cold]
    fn truncated(&self, wanted: usize) -> DecodeError {
        self.error(Problem::Truncated {
            wanted,
            left: self.rest().len(),
        })
    }

    /// The next value, which starts with `lead`, is not what was expected.
    #[cold]
    fn unexpected(&self, expected: &'static str, lead: u8) -> DecodeError {
        match self.kind_of(lead) {
            Ok(found) => self.error(Problem::Unexpected { expected, found }),
            Err(error) => error,
        }
    }
}

/// How much memory a byte may become without being counted: a `long` of one byte, say.
const FREE_MEMORY: usize = 8;
/// How much memory beyond that counts as a node.
const NODE_MEMORY: usize = 64;
const CLASS_DEFINITION: u8 = b'C';
const REFERENCE: u8 = b'Q';
/// The end of a map or of a list without a length.
const END: u8 = b'Z';
/// What a parked name looks like from outside: a string.
const PARKED_LEAD: u8 = b'S';
