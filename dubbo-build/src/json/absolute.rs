//! Paths that mean the same wherever they stand.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{
    ItemUse, Macro, Path, PathSegment, UseTree, parse_quote,
    visit_mut::{self, VisitMut},
};

/// Makes every path absolute, with `serde` and `pbjson` below the module that generated code uses.
///
/// Paths to messages begin with `self`, `super` or a crate already, so a bare name here is always one of the standard
/// library.
pub(super) struct Absolute<'a> {
    core: &'a Path,
}

impl<'a> Absolute<'a> {
    pub(super) fn new(core: &'a Path) -> Self {
        Self { core }
    }
}

impl VisitMut for Absolute<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        // A keyword since edition 2024, of which pbjson-build does not know.
        if ident == "gen" {
            *ident = Ident::new_raw("gen", Span::call_site());
        }
    }

    fn visit_item_use_mut(&mut self, item: &mut ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && path.ident == "serde"
        {
            let (core, tree) = (self.core, path);
            *item = parse_quote!(use #core::#tree;);
        }
    }

    fn visit_macro_mut(&mut self, node: &mut Macro) {
        let path = &node.path;
        if path.get_ident().is_some() {
            node.path = parse_quote!(::std::#path);
        }
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        for segment in path.segments.iter_mut().skip(1) {
            escape_self(segment);
        }
        let core = self.core;
        let Some(first) = path.segments.first() else {
            return;
        };
        match first.ident.to_string().as_str() {
            "serde" | "pbjson" => {
                let below = path.segments.to_token_stream();
                *path = parse_quote!(#core::#below);
            }
            "std" => path.leading_colon = Some(<syn::Token![::]>::default()),
            "ToString" => *path = parse_quote!(::std::string::#path),
            "Vec" => *path = parse_quote!(::std::vec::#path),
            _ => {}
        }
    }
}

/// A variant cannot be called `Self`: prost calls it `Self_`.
fn escape_self(segment: &mut PathSegment) {
    if segment.ident == "Self" {
        segment.ident = Ident::new("Self_", Span::call_site());
    }
}
