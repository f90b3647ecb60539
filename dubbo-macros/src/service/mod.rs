//! `#[dubbo::service]`.

mod expand;
mod method;
mod parse;

use proc_macro2::TokenStream;

/// The trait in `item` as a service, with its server, its client and its descriptor.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    parse::Service::parse(options, item).map(|service| expand::service(&service))
}
