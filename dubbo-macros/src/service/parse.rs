//! What a service is, and which ones there cannot be.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{
    Error, Item, ItemTrait, Path, TraitItem, meta::ParseNestedMeta, parse::Parser, parse_quote,
    spanned::Spanned,
};

use super::method::Method;
use crate::{java, mistakes::Mistakes, options};

/// A trait to make a service of.
pub(super) struct Service {
    /// Where the facade is.
    pub(super) facade: Path,
    pub(super) interface: String,
    pub(super) version: Option<String>,
    pub(super) group: Option<String>,
    /// As it was written; what its methods are is in `methods`.
    pub(super) item: ItemTrait,
    pub(super) methods: Vec<Method>,
}

impl Service {
    pub(super) fn parse(tokens: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let (mut facade, mut interface, mut version, mut group) = (None, None, None, None);
        let parser = syn::meta::parser(|meta| match options::name(&meta).as_str() {
            "crate" => options::set(&mut facade, &meta, options::path(&meta)?),
            "group" => options::set(&mut group, &meta, part_of_key(&meta)?),
            "interface" => options::set(&mut interface, &meta, java::class_name(&meta)?),
            "version" => options::set(&mut version, &meta, part_of_key(&meta)?),
            _ => Err(options::unknown(&meta, &OPTIONS)),
        });
        parser.parse2(tokens)?;
        let item = match syn::parse2(item)? {
            Item::Trait(item) => item,
            item => {
                let text = "a service is a trait; its server and its client are made of it";
                return Err(Error::new(item.span(), text));
            }
        };
        let mut mistakes = Mistakes::default();
        if interface.is_none() {
            let text = "a service needs the full name of its interface: \
                        `interface = \"com.example.UserService\"`";
            mistakes.tell(Span::call_site(), text);
        }
        check_form(&item, &mut mistakes);
        let methods = item.items.iter().map(|item| match item {
            TraitItem::Fn(method) => Method::parse(method),
            other => Err(Error::new(other.span(), "a service has methods only")),
        });
        let methods: Vec<_> = methods.filter_map(|method| mistakes.take(method)).collect();
        tell_apart(&methods, &mut mistakes);
        let interface = mistakes.or(interface)?;
        Ok(Self {
            facade: facade.unwrap_or_else(|| parse_quote!(::dubbo)),
            interface: interface.expect("invariant: what is not there is a mistake"),
            version,
            group,
            item,
            methods,
        })
    }
}

/// A group or a version.
fn part_of_key(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let text = options::string(meta)?;
    let value = text.value();
    let never = |c: char| c.is_whitespace() || "*/:".contains(c);
    if !value.is_empty() && !value.contains(never) {
        return Ok(value);
    }
    let text_of =
        "expected letters, without `*`, `/`, `:` and spaces; leave it out when there is none";
    Err(Error::new(text.span(), text_of))
}

fn check_form(item: &ItemTrait, mistakes: &mut Mistakes) {
    if !item.generics.params.is_empty() || item.generics.where_clause.is_some() {
        let text = "a service is not generic: both sides know the types of its methods";
        mistakes.tell(item.generics.span(), text);
    }
    if let Some(token) = &item.unsafety {
        mistakes.tell(token.span(), "a service is a plain trait");
    }
    if let Some(attribute) = item.attrs.iter().find(|a| a.path().is_ident("cfg")) {
        let text = "write `cfg` above `#[dubbo::service]`: it is for the server and the client too";
        mistakes.tell(attribute.span(), text);
    }
}

/// Methods of one name take different types. Those that are the same in Rust are found here, the others at run time.
fn tell_apart(methods: &[Method], mistakes: &mut Mistakes) {
    let mut seen: HashMap<_, &Ident> = HashMap::new();
    for method in methods {
        if let Some(before) = seen.insert((&method.name, method.signature()), &method.ident) {
            let text = format!(
                "`{before}` is called `{}` too and takes the same types; one of them needs another \
                 `#[dubbo(name = \"...\")]`",
                method.name
            );
            mistakes.tell(method.ident.span(), text);
        }
    }
}

const OPTIONS: [&str; 4] = ["crate", "group", "interface", "version"];
