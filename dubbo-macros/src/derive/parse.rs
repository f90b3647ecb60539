//! What a class is, and which ones there cannot be.

use std::collections::HashMap;

use heck::{ToLowerCamelCase, ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use proc_macro2::Ident;
use syn::{
    Data, DataEnum, DeriveInput, Error, Fields, Generics, Path, Type, Variant, ext::IdentExt,
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
        let (mut path, mut name, mut case) = (None, None, None);
        options::read(&input.attrs, ATTRIBUTE, |meta| {
            match options::name(meta).as_str() {
                "class" => options::set(&mut name, meta, java::class_name(meta)?),
                "crate" => options::set(&mut path, meta, options::path(meta)?),
                "rename_all" => options::set(&mut case, meta, Case::parse(meta)?),
                _ => Err(options::unknown(meta, &["class", "crate", "rename_all"])),
            }
        })?;
        let mut mistakes = Mistakes::default();
        let body = match &input.data {
            Data::Enum(data) => mistakes
                .take(Enum::parse(data, case.unwrap_or(Case::ScreamingSnake)))
                .map(Body::Enum),
            Data::Struct(data) => mistakes
                .take(Struct::parse(&data.fields, case.unwrap_or(Case::Camel)))
                .map(|body| Body::Struct(Box::new(body))),
            Data::Union(data) => {
                let text = "a union cannot be a class, which has all of its fields";
                mistakes.tell(data.union_token.span(), text);
                None
            }
        };
        if name.is_none() {
            let text = "a class needs its full name: `#[hessian(class = \"com.example.User\")]`";
            mistakes.tell(input.ident.span(), text);
        }
        let parsed = mistakes.or(name.zip(body))?;
        let (name, body) = parsed.expect("invariant: what is not there is a mistake");
        Ok(Self {
            hessian: path.unwrap_or(hessian),
            ident: input.ident,
            generics: input.generics,
            name,
            body,
        })
    }
}

impl Struct {
    fn parse(fields: &Fields, case: Case) -> syn::Result<Self> {
        if let Fields::Unnamed(fields) = fields {
            let text = "a tuple struct cannot be a class, whose fields have names";
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
            let ty = field.ty.clone();
            match mistakes.take(Role::parse(field)) {
                None => {}
                Some(Role::Inherited) if parsed.inherited.is_some() => {
                    let text = "a class has one superclass; flatten the other one in that";
                    mistakes.tell(ident.span(), text);
                }
                Some(Role::Inherited) => parsed.inherited = Some((ident, ty)),
                Some(Role::Own(rename, absent)) => {
                    let name = rename.unwrap_or_else(|| case.apply(&ident));
                    mistakes.take(names.add(&ident, &name, "field"));
                    parsed.fields.push(Field {
                        ident,
                        ty,
                        name,
                        absent,
                    });
                }
                Some(Role::Skipped(absent)) => parsed.skipped.push((ident, ty, absent)),
            }
        }
        mistakes.or(parsed)
    }
}

/// What the options of a field make of it.
enum Role {
    Inherited,
    Own(Option<String>, Absent),
    Skipped(Absent),
}

impl Role {
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
                _ => Err(options::unknown(meta, &FIELD_OPTIONS)),
            }
        })?;
        let text = match (flatten, skip, &rename, &absent) {
            (None, None, ..) => return Ok(Self::Own(rename, absent.unwrap_or(Absent::Null))),
            (None, Some(()), None, _) => {
                return Ok(Self::Skipped(absent.unwrap_or(Absent::Default)));
            }
            (Some(()), None, None, None) => return Ok(Self::Inherited),
            (None, Some(()), Some(_), _) => "a field that is skipped has no name",
            (Some(()), ..) => {
                "a field that is flattened has no other options; its fields may have some"
            }
        };
        Err(Error::new(field.ident.span(), text))
    }
}

impl Enum {
    fn parse(data: &DataEnum, case: Case) -> syn::Result<Self> {
        if data.variants.is_empty() {
            let text = "an enum without constants has no values that could be sent";
            return Err(Error::new(data.brace_token.span.join(), text));
        }
        let mut mistakes = Mistakes::default();
        let mut names = Names::default();
        let mut parsed = Self {
            constants: Vec::new(),
            other: None,
        };
        for variant in &data.variants {
            let ident = variant.ident.clone();
            match mistakes.take(constant(variant)) {
                None => {}
                Some(Constant::Named(rename)) => {
                    let name = rename.unwrap_or_else(|| case.apply(&ident));
                    mistakes.take(names.add(&ident, &name, "constant"));
                    parsed.constants.push((ident, name));
                }
                Some(Constant::Other) if parsed.other.is_some() => {
                    let text = "there is a variant for all other constants before";
                    mistakes.tell(ident.span(), text);
                }
                Some(Constant::Other) => parsed.other = Some(ident),
            }
        }
        mistakes.or(parsed)
    }
}

/// What a variant stands for.
enum Constant {
    Named(Option<String>),
    Other,
}

fn constant(variant: &Variant) -> syn::Result<Constant> {
    let (mut rename, mut other) = (None, None);
    options::read(&variant.attrs, ATTRIBUTE, |meta| {
        match options::name(meta).as_str() {
            "flatten" => Err(meta.error("a constant has no fields to flatten; only structs have")),
            "other" => options::set(&mut other, meta, ()),
            "rename" => options::set(&mut rename, meta, new_name(meta)?),
            _ => Err(options::unknown(meta, &["other", "rename"])),
        }
    })?;
    let text = match (&variant.fields, other, &rename) {
        (Fields::Unit, None, _) => return Ok(Constant::Named(rename)),
        (Fields::Unnamed(fields), Some(()), None) if fields.unnamed.len() == 1 => {
            return Ok(Constant::Other);
        }
        (_, Some(()), None) => {
            "the variant for all other constants has their name: `Other(String)`"
        }
        (_, Some(()), Some(_)) => "the variant for all other constants has no name of its own",
        (_, None, _) => {
            "a constant has no data; `#[hessian(other)]` is for a variant with the name of any other one"
        }
    };
    Err(Error::new(variant.span(), text))
}

/// The names that are taken.
#[derive(Default)]
struct Names(HashMap<String, Ident>);

impl Names {
    fn add(&mut self, ident: &Ident, name: &str, what: &str) -> syn::Result<()> {
        let Some(before) = self.0.insert(name.to_owned(), ident.clone()) else {
            return Ok(());
        };
        let text = format!("the {what} `{name}` is there already: it is `{before}`");
        Err(Error::new(ident.span(), text))
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
    fn parse(meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        let literal = options::string(meta)?;
        let given = literal.value();
        if let Some((_, case)) = CASES.iter().find(|(name, _)| *name == given) {
            return Ok(*case);
        }
        let meant = options::meant(&given, &CASES.map(|(name, _)| name));
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

const FIELD_OPTIONS: [&str; 4] = ["default", "flatten", "rename", "skip"];

const CASES: [(&str, Case); 4] = [
    ("camelCase", Case::Camel),
    ("PascalCase", Case::Pascal),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("snake_case", Case::Snake),
];
