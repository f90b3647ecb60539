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

/// What one message may cost (`docs/spec/hessian2.md` §18). More is an error, before anything is allocated for it,
/// and the error names the limit: raise that one if a peer is right to send more.
///
/// Lengths need no limits of their own: what is claimed must be there, each element and each unit of text being a byte
/// at least, and nothing is reserved for more than 1024 elements ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep lists, maps and objects may nest, what is reached through references included. Default 128; more than
    /// [`MAX_DEPTH`] counts as that.
    pub depth: usize,
    /// How many things there may be that take much more memory than bytes: lists, maps, objects, names of fields and
    /// values inside a [`Value`](crate::Value), and each 64 bytes of memory that elements of lists and maps, and what
    /// boxes and handles hold, take beyond eight times their bytes, as nulls in the place of large structs do. Default
    /// 1 000 000.
    pub nodes: usize,
    /// How many bytes may be read again, because references stand for plain Rust values, which are not shared.
    /// Default 16 MiB.
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
        expansion: 16 << 20,
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

/// The deepest nesting that [`Limits::depth`] and [`EncodeOptions::depth`](crate::EncodeOptions::depth) can allow.
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

/// How many elements are reserved before they are read.
pub(crate) const RESERVED_ELEMENTS: usize = 1024;
