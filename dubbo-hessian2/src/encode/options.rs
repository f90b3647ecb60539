//! What a writer may choose.

use crate::Limits;

/// Choices for peers that differ (`docs/spec/hessian2.md` §13). Every reader understands every choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// How lists without a type are written.
    pub array_lists: ArrayLists,
    /// How deep lists, maps and objects may nest. Default 128, as for [`Limits::depth`](crate::Limits::depth): what is
    /// deeper would be refused where it is read. More than [`MAX_DEPTH`](crate::MAX_DEPTH) counts as that.
    pub depth: usize,
    /// How many UTF-16 units a chunk of a long string holds. Java writes 32768, the default; dubbo-go 4096. 0 counts
    /// as 1.
    pub string_chunk: u16,
}

/// How lists without a type are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrayLists {
    /// With the type `java.util.ArrayList`, as hessian-lite 3.2.13, of Dubbo up to 3.2.
    Typed,
    /// Without a type, as hessian-lite 4.
    #[default]
    Untyped,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            array_lists: ArrayLists::default(),
            depth: Limits::DEFAULT.depth,
            string_chunk: 0x8000,
        }
    }
}
