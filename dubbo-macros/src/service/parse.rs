//! What a service is, and which ones there cannot be.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Error, Item, ItemTrait, Path, TraitItem, parse::Parser, parse_quote, spanned::Spanned};

use super::method::Method;
use crate::{java, mistakes::Mistakes, options};

/// A trait to make a service of.
pub(super) struct Service {
    /// Where the facade is.
    pub(super) facade: Path,
    pub(super) interface: String,
    pub(super) version: Option<String>,
    pub(super) group: Option<String>,
    /// As it was written; its methods are in `methods`.
    pub(super) item: ItemTrait,
    pub(super) methods: Vec<Method>,
}

impl Service {
    pub(super) fn parse(options: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let item = match syn::parse2(item)? {
            Item::Trait(item) => item,
            item => {
                let text = "a service is a trait; its server and its client are made of it";
                return Err(Error::new(item.span(), text));
            }
        };
        let mut mistakes = Mistakes::default();
        let options = mistakes.take(ServiceOptions::parse(options));
        check_form(&item, &mut mistakes);
        let items = item.items.iter();
        let methods: Vec<_> = items
            .filter_map(|item| {
                mistakes.take(match item {
                    TraitItem::Fn(method) => Method::parse(method),
                    other => Err(Error::new(other.span(), "a service has methods only")),
                })
            })
            .collect();
        tell_apart(&methods, &mut mistakes);
        let options = mistakes.or(options)?;
        let options = options.expect("invariant: what is not there is a mistake");
        Ok(Self {
            facade: options.facade,
            interface: options.interface,
            version: options.version,
            group: options.group,
            item,
            methods,
        })
    }
}

struct ServiceOptions {
    facade: Path,
    interface: String,
    version: Option<String>,
    group: Option<String>,
}

impl ServiceOptions {
    fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let (mut facade, mut interface, mut version, mut group) = (None, None, None, None);
        let parser = syn::meta::parser(|meta| match options::name(&meta).as_str() {
            "crate" => options::set(&mut facade, &meta, options::path(&meta)?),
            "group" => options::set(&mut group, &meta, key_part(&options::string(&meta)?)?),
            "interface" => {
                let name = java::class_name(&meta)?;
                options::set(&mut interface, &meta, name)
            }
            "version" => options::set(&mut version, &meta, key_part(&options::string(&meta)?)?),
            _ => {
                let known = ["crate", "group", "interface", "version"];
                Err(options::unknown(&meta, &known))
            }
        });
        parser.parse2(tokens)?;
        let missing = || {
            let text = "a service needs the full name of its interface: \
                        `interface = \"com.example.UserService\"`";
            Error::new(Span::call_site(), text)
        };
        Ok(Self {
            facade: facade.unwrap_or_else(|| parse_quote!(::dubbo)),
            interface: interface.ok_or_else(missing)?,
            version,
            group,
        })
    }
}

/// A group or a version.
fn key_part(text: &syn::LitStr) -> syn::Result<String> {
    let value = text.value();
    let never = |c: char| c.is_whitespace() || "/:".contains(c);
    match value.as_str() {
        "" => Err(Error::new(text.span(), "leave it out when there is none")),
        "*" => Err(Error::new(
            text.span(),
            "a service has one; `*` is for those who call",
        )),
        value if value.contains(never) => {
            let text_of = "`/`, `:` and spaces are not for groups and versions";
            Err(Error::new(text.span(), text_of))
        }
        _ => Ok(value),
    }
}

fn check_form(item: &ItemTrait, mistakes: &mut Mistakes) {
    if !item.generics.params.is_empty() || item.generics.where_clause.is_some() {
        let text =
            "a service is not generic: what its methods take and give is known to both sides";
        mistakes.add(Error::new(item.generics.span(), text));
    }
    if let Some(token) = &item.unsafety {
        mistakes.add(Error::new(token.span(), "a service is a plain trait"));
    }
    if let Some(attribute) = item.attrs.iter().find(|a| a.path().is_ident("cfg")) {
        let text = "write the `cfg` above `#[dubbo::service]`, so that it is for the server and the client too";
        mistakes.add(Error::new(attribute.span(), text));
    }
}

/// Methods of one name have different Java types. What is the same in Rust is found here; the rest at run time.
fn tell_apart(methods: &[Method], mistakes: &mut Mistakes) {
    let mut seen: HashMap<_, &Ident> = HashMap::new();
    for method in methods {
        if let Some(before) = seen.insert((&method.name, method.signature()), &method.ident) {
            let text = format!(
                "`{}` is called `{}` in Java and takes the same types; give one of them another \
                 `#[dubbo(name = \"...\")]`",
                before, method.name
            );
            mistakes.add(Error::new(method.ident.span(), text));
        }
    }
}
