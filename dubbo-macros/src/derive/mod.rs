//! `#[derive(Hessian)]`.

mod expand;
mod parse;

use proc_macro2::TokenStream;
use syn::{DeriveInput, Path};

/// The traits of `hessian` for `input`; `#[hessian(crate = "...")]` names another path.
pub(crate) fn expand(input: DeriveInput, hessian: Path) -> syn::Result<TokenStream> {
    parse::Class::parse(input, hessian).map(|class| expand::class(&class))
}
