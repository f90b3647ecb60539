//! Writing code that stands among the items of others.
//!
//! Paths are absolute or the user's own. Locals have the names of the macro, which no item of the user's can be.

use proc_macro2::Span;
use syn::spanned::Spanned;

/// `quote!` with the names of the macro.
macro_rules! code {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use code;

/// Where `tokens` are, for mistakes that the compiler finds in what is written for them, with the names of the macro.
pub(crate) fn at(tokens: &impl Spanned) -> Span {
    tokens.span().resolved_at(Span::mixed_site())
}
