//! Writing code that stands among the items of others.
//!
//! Paths are absolute or the user's own. Locals are the macro's own: no path of the user's means them.

use proc_macro2::Span;
use syn::spanned::Spanned;

/// `quote!` with locals of the macro's own.
macro_rules! code {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use code;

/// Where `tokens` are, for mistakes that the compiler finds in what is written for them, with locals of the macro's own.
pub(crate) fn at(tokens: &impl Spanned) -> Span {
    tokens.span().resolved_at(Span::mixed_site())
}
