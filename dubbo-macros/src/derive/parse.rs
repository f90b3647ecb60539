//! What a class is, and which ones there cannot be.

use std::collections::HashMap;

use heck::{ToLowerCamelCase, ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use proc_macro2::Ident;
use syn::{
    Data, DeriveInput, Error, Fields, Generics, LitStr, Path, Type, Variant, ext::IdentExt,
    meta::ParseNestedMeta, spanned::Spanned,
};

use crate::{java, mistakes::Mistakes, options};

/// A type to derive for.
pub(super) struct Class {
    /// Where the codec is.
    pub(super) hessian: Path,
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// The full name in Java.
    pub(super) name: String,
    pub(super) body: Body,
}

pub(super) enum Body {
    Enum(Enum),
    Struct(Box<Struct>),
}

pub(super) struct Struct {
    /// The field that has the fields of the superclass.
    pub(super) inherited: Option<(Ident, Type)>,
    pub(super) fields: Vec<Field>,
    /// Those that do not travel.
    pub(super) skipped: Vec<(Ident, Type, Absent)>,
}

pub(super) struct Field {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) name: String,
    pub(super) absent: Absent,
}

/// Where the value of a field comes from that is null or missing.
pub(super) enum Absent {
    /// `Default`.
    Default,
    /// A function.
    From(Path),
    /// What null means for the type, if anything.
    Null,
}

pub(super) struct Enum {
    pub(super) constants: Vec<(Ident, String)>,
    /// The variant for all other constants.
    pub(super) other: Option<Ident>,
}

impl Class {
    pub(super) fn parse(input: DeriveInput, hessian: Path) -> syn::Result<Self> {
        let mut mistakes = Mistakes::default();
        let fields_case = match &input.data {
            Data::Struct(_) | Data::Union(_) => Case::Camel,
            Data::Enum(_) => Case::ScreamingSnake,
        };
        let options = mistakes.take(ClassOptions::parse(&input, hessian, fields_case));
        let case = options.as_ref().map_or(fields_case, |options| options.case);
        let body = match &input.data {
            Data::Struct(data) => mistakes
                .take(Struct::parse(&data.fields, case))
                .map(|body| Body::Struct(Box::new(body))),
            Data::Enum(data) => {
                let variants = data.variants.iter();
                mistakes
                    .take(Enum::parse(&input.ident, variants, case))
                    .map(Body::Enum)
            }
            Data::Union(data) => {
                let text = "`Hessian` cannot be derived for a union: a class has all of its fields";
                mistakes.add(Error::new(data.union_token.span(), text));
                None
            }
        };
        let parsed = mistakes.or(options.zip(body))?;
        let (options, body) = parsed.expect("invariant: what is not there is a mistake");
        Ok(Self {
            hessian: options.hessian,
            ident: input.ident,
            generics: input.generics,
            name: options.class,
            body,
        })
    }
}

/// The options of the type.
struct ClassOptions {
    hessian: Path,
    class: String,
    case: Case,
}

impl ClassOptions {
    fn parse(input: &DeriveInput, hessian: Path, case: Case) -> syn::Result<Self> {
        let (mut path, mut class, mut rename_all) = (None, None, None);
        options::read(&input.attrs, ATTRIBUTE, |meta| {
            match options::name(meta).as_str() {
                "class" => {
                    options::set(&mut class, meta, java::class_name(&options::string(meta)?)?)
                }
                "crate" => options::set(&mut path, meta, options::path(meta)?),
                "rename_all" => {
                    options::set(&mut rename_all, meta, Case::parse(&options::string(meta)?)?)
                }
                _ => Err(options::unknown(meta, &["class", "crate", "rename_all"])),
            }
        })?;
        let missing = || {
            let text =
                "a class needs its full name in Java: `#[hessian(class = \"com.example.User\")]`";
            Error::new(input.ident.span(), text)
        };
        Ok(Self {
            hessian: path.unwrap_or(hessian),
            class: class.ok_or_else(missing)?,
            case: rename_all.unwrap_or(case),
        })
    }
}

impl Struct {
    fn parse(fields: &Fields, case: Case) -> syn::Result<Self> {
        if let Fields::Unnamed(fields) = fields {
            let text =
                "`Hessian` cannot be derived for a tuple struct: the fields of a class have names";
            return Err(Error::new(fields.span(), text));
        }
        let mut mistakes = Mistakes::default();
        let mut names = Names::default();
        let mut parsed = Self {
            inherited: None,
            fields: Vec::new(),
            skipped: Vec::new(),
        };
        for field in fields {
            let ident = field.ident.clone().expect("invariant: not a tuple struct");
            let Some(options) = mistakes.take(FieldOptions::parse(field)) else {
                continue;
            };
            let ty = field.ty.clone();
            let absent = options.absent.unwrap_or(Absent::Null);
            match options.role {
                Role::Inherited if parsed.inherited.is_none() => {
                    parsed.inherited = Some((ident, ty));
                }
                Role::Inherited => {
                    let text = "a class has one superclass; flatten the other one in that";
                    mistakes.add(Error::new(ident.span(), text));
                }
                Role::Own => {
                    let name = options.rename.unwrap_or_else(|| case.apply(&ident));
                    mistakes.take(names.add(&ident, &name, "field"));
                    parsed.fields.push(Field {
                        ident,
                        ty,
                        name,
                        absent,
                    });
                }
                Role::Skipped => parsed.skipped.push((ident, ty, absent)),
            }
        }
        mistakes.or(parsed)
    }
}

/// The options of a field.
struct FieldOptions {
    role: Role,
    rename: Option<String>,
    absent: Option<Absent>,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Inherited,
    Own,
    Skipped,
}

impl FieldOptions {
    fn parse(field: &syn::Field) -> syn::Result<Self> {
        let (mut flatten, mut skip, mut rename, mut absent) = (None, None, None, None);
        options::read(&field.attrs, ATTRIBUTE, |meta| {
            match options::name(meta).as_str() {
                "default" if meta.input.peek(syn::Token![=]) => {
                    options::set(&mut absent, meta, Absent::From(options::path(meta)?))
                }
                "default" => options::set(&mut absent, meta, Absent::Default),
                "flatten" => options::set(&mut flatten, meta, ()),
                "rename" => options::set(&mut rename, meta, new_name(meta)?),
                "skip" => options::set(&mut skip, meta, ()),
                _ => Err(options::unknown(
                    meta,
                    &["default", "flatten", "rename", "skip"],
                )),
            }
        })?;
        let mistake = |text| Err(Error::new(field.ident.span(), text));
        let role = match (flatten, skip, &rename) {
            (Some(()), Some(()), _) => {
                return mistake("a field that is skipped cannot be flattened");
            }
            (Some(()), None, Some(_)) => {
                return mistake("a field that is flattened has no name of its own");
            }
            (Some(()), None, None) if absent.is_some() => {
                return mistake(
                    "a field that is flattened is always there; its fields may have a `default`",
                );
            }
            (Some(()), None, None) => Role::Inherited,
            (None, Some(()), Some(_)) => return mistake("a field that is skipped has no name"),
            (None, Some(()), None) => Role::Skipped,
            (None, None, _) => Role::Own,
        };
        let absent = match role {
            Role::Skipped => absent.or(Some(Absent::Default)),
            Role::Inherited | Role::Own => absent,
        };
        Ok(Self {
            role,
            rename,
            absent,
        })
    }
}

impl Enum {
    fn parse<'a>(
        ident: &Ident,
        variants: impl Iterator<Item = &'a Variant>,
        case: Case,
    ) -> syn::Result<Self> {
        let mut mistakes = Mistakes::default();
        let mut names = Names::default();
        let mut parsed = Self {
            constants: Vec::new(),
            other: None,
        };
        for variant in variants {
            let Some((rename, other)) = mistakes.take(variant_options(variant)) else {
                continue;
            };
            let ident = variant.ident.clone();
            if !other {
                let name = rename.unwrap_or_else(|| case.apply(&ident));
                mistakes.take(names.add(&ident, &name, "constant"));
                parsed.constants.push((ident, name));
            } else if parsed.other.is_none() {
                parsed.other = Some(ident);
            } else {
                let text = "one variant stands for all other constants, and there is one before";
                mistakes.add(Error::new(ident.span(), text));
            }
        }
        let parsed = mistakes.or(parsed)?;
        if parsed.constants.is_empty() {
            let text = "`Hessian` cannot be derived for an enum without constants";
            return Err(Error::new(ident.span(), text));
        }
        Ok(parsed)
    }
}

/// The name of a variant, and whether it stands for all other constants.
fn variant_options(variant: &Variant) -> syn::Result<(Option<String>, bool)> {
    let (mut rename, mut other) = (None, None);
    options::read(&variant.attrs, ATTRIBUTE, |meta| {
        match options::name(meta).as_str() {
            "other" => options::set(&mut other, meta, ()),
            "rename" => options::set(&mut rename, meta, new_name(meta)?),
            "flatten" => Err(meta.error("a constant has no fields to flatten; only structs have")),
            _ => Err(options::unknown(meta, &["other", "rename"])),
        }
    })?;
    let other = other.is_some();
    match &variant.fields {
        Fields::Unnamed(fields) if other && fields.unnamed.len() == 1 => {}
        Fields::Unit if !other => {}
        fields if other => {
            let span = if fields.is_empty() {
                variant.ident.span()
            } else {
                fields.span()
            };
            let text = "the variant for all other constants has their name: `Other(String)`";
            return Err(Error::new(span, text));
        }
        fields => {
            let text = "a constant of a Java enum has no data; the variant `#[hessian(other)]` has the name \
                        of an unknown one";
            return Err(Error::new(fields.span(), text));
        }
    }
    if other && rename.is_some() {
        let text = "the variant for all other constants has no name of its own";
        return Err(Error::new(variant.ident.span(), text));
    }
    Ok((rename, other))
}

/// The names that are taken.
#[derive(Default)]
struct Names(HashMap<String, Ident>);

impl Names {
    fn add(&mut self, ident: &Ident, name: &str, what: &str) -> syn::Result<()> {
        match self.0.insert(name.to_owned(), ident.clone()) {
            None => Ok(()),
            Some(before) => Err(Error::new(
                ident.span(),
                format!("the {what} `{name}` is there already: that is what `{before}` is called"),
            )),
        }
    }
}

/// How names are made of Rust's.
#[derive(Clone, Copy)]
enum Case {
    Camel,
    Pascal,
    ScreamingSnake,
    Snake,
}

impl Case {
    fn parse(literal: &LitStr) -> syn::Result<Self> {
        let given = literal.value();
        if let Some((_, case)) = CASES.iter().find(|(name, _)| *name == given) {
            return Ok(*case);
        }
        let names = CASES.map(|(name, _)| name);
        let meant = match options::closest(&given, &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("expected {}", options::listed(&names)),
        };
        let text = format!("there is no case `{given}`; {meant}");
        Err(Error::new(literal.span(), text))
    }

    fn apply(self, ident: &Ident) -> String {
        let name = ident.unraw().to_string();
        match self {
            Self::Camel => name.to_lower_camel_case(),
            Self::Pascal => name.to_upper_camel_case(),
            Self::ScreamingSnake => name.to_shouty_snake_case(),
            Self::Snake => name.to_snake_case(),
        }
    }
}

fn new_name(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let text = options::string(meta)?;
    match text.value() {
        name if name.is_empty() => Err(Error::new(text.span(), "a name is not empty")),
        name => Ok(name),
    }
}

const ATTRIBUTE: &str = "hessian";

const CASES: [(&str, Case); 4] = [
    ("camelCase", Case::Camel),
    ("PascalCase", Case::Pascal),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("snake_case", Case::Snake),
];
