//! A method of a service.

use heck::ToLowerCamelCase;
use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{
    Attribute, Error, FnArg, GenericArgument, LitStr, Pat, PathArguments, PathSegment,
    ReceiverKind, ReturnType, Safety, Signature, Token, TraitItemFn, Type, bracketed,
    ext::IdentExt, meta::ParseNestedMeta, punctuated::Punctuated, spanned::Spanned,
};

use crate::{java, mistakes::Mistakes, options};

pub(super) struct Method {
    /// Those that are not ours.
    pub(super) attrs: Vec<Attribute>,
    pub(super) sig: Signature,
    pub(super) ident: Ident,
    /// What Java calls it.
    pub(super) name: String,
    /// Whether the first parameter is the call being served.
    pub(super) takes_context: bool,
    pub(super) requests: Requests,
    pub(super) answer: Answer,
    /// The Java types of the parameters, when they are not those of the Rust types.
    pub(super) types: Option<Vec<String>>,
    /// The same of the result.
    pub(super) returns: Option<String>,
    pub(super) oneway: bool,
    pub(super) idempotent: bool,
}

/// What a caller sends.
pub(super) enum Requests {
    /// Messages of a type.
    Stream(Ident, Box<Type>),
    Values(Vec<(Ident, Type)>),
}

/// What a handler gives.
pub(super) struct Answer {
    /// The `Result`.
    pub(super) result: Type,
    /// The type in it.
    pub(super) ty: Type,
    /// What that is a stream of.
    pub(super) item: Option<Type>,
}

impl Method {
    pub(super) fn parse(item: &TraitItemFn) -> syn::Result<Self> {
        let (mut name, mut types, mut returns) = (None, None, None);
        let (mut oneway, mut idempotent) = (None, None);
        options::read(&item.attrs, ATTRIBUTE, |meta| {
            match options::name(meta).as_str() {
                "idempotent" => options::set(&mut idempotent, meta, ()),
                "name" => options::set(&mut name, meta, java::identifier(meta)?),
                "oneway" => options::set(&mut oneway, meta, meta.path.span()),
                "returns" => {
                    let returned = java::type_name(&options::string(meta)?)?;
                    options::set(&mut returns, meta, returned)
                }
                "types" => options::set(&mut types, meta, (meta.path.span(), type_names(meta)?)),
                _ => Err(options::unknown(meta, &OPTIONS)),
            }
        })?;
        let mut mistakes = Mistakes::default();
        check_form(item, &mut mistakes);
        let parameters = mistakes.take(parameters(&item.sig));
        let answer = mistakes.take(Answer::parse(&item.sig));
        if let Some(((_, requests), answer)) = parameters.as_ref().zip(answer.as_ref()) {
            if let Some((span, types)) = &types {
                mistakes.take(requests.check_types(*span, types));
            }
            if let Some(span) = oneway.filter(|_| !(requests.are_values() && answer.is_nothing())) {
                mistakes.tell(
                    span,
                    "nobody waits for the answer of a one-way method: it takes values and returns `Result<(), Status>`",
                );
            }
        }
        let parsed = mistakes.or(parameters.zip(answer))?;
        let ((takes_context, requests), answer) =
            parsed.expect("invariant: what is not there is a mistake");
        let ours = |attribute: &&Attribute| attribute.path().is_ident(ATTRIBUTE);
        let ident = item.sig.ident.clone();
        Ok(Self {
            attrs: item.attrs.iter().filter(|a| !ours(a)).cloned().collect(),
            sig: item.sig.clone(),
            name: name.unwrap_or_else(|| ident.unraw().to_string().to_lower_camel_case()),
            ident,
            takes_context,
            requests,
            answer,
            types: types.map(|(_, types)| types),
            returns,
            oneway: oneway.is_some(),
            idempotent: idempotent.is_some(),
        })
    }

    /// What is different for two methods of one name.
    pub(super) fn signature(&self) -> (Vec<String>, bool) {
        let types = match (&self.types, &self.requests) {
            (Some(types), _) => types.clone(),
            (None, Requests::Values(values)) => {
                let types = values.iter().map(|(_, ty)| ty.to_token_stream());
                types.map(|ty| ty.to_string()).collect()
            }
            (None, Requests::Stream(..)) => Vec::new(),
        };
        // `void m(A, StreamObserver)` and `StreamObserver m(StreamObserver)` have one more.
        let observed = self.answer.item.is_some() || !self.requests.are_values();
        (types, observed)
    }
}

/// `types = ["java.lang.String", "int"]`
fn type_names(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<String>> {
    let value = meta.value()?;
    let list;
    bracketed!(list in value);
    let names = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?;
    names.iter().map(java::type_name).collect()
}

fn check_form(item: &TraitItemFn, mistakes: &mut Mistakes) {
    let sig = &item.sig;
    let name = sig.ident.span();
    if sig.asyncness.is_none() {
        mistakes.tell(
            sig.fn_token.span(),
            "a method of a service is an `async fn`",
        );
    }
    let plain = sig.constness.is_none() && sig.abi.is_none() && sig.variadic.is_none();
    if !plain || !matches!(sig.safety, Safety::Default) {
        mistakes.tell(name, "a method of a service is a plain `async fn`");
    }
    if !sig.generics.params.is_empty() || sig.generics.where_clause.is_some() {
        let text = "a method of a service is not generic: both sides know its types";
        mistakes.tell(sig.generics.span(), text);
    }
    let kind = sig.receiver().map(|receiver| &receiver.kind);
    if !matches!(kind, Some(ReceiverKind::Reference(_, None, None))) {
        let span = sig.receiver().map_or_else(|| name, Spanned::span);
        let text =
            "a method of a service takes `&self`: one implementation serves all calls at once";
        mistakes.tell(span, text);
    }
    if let Some(body) = &item.default {
        let text = "a method of a service has no body here; implementations have one";
        mistakes.tell(body.span(), text);
    }
    if let Some(cfg) = item.attrs.iter().find(|a| a.path().is_ident("cfg")) {
        let text = "both sides have all methods of a service; `cfg` is for the whole trait";
        mistakes.tell(cfg.span(), text);
    }
}

/// Whether the first one is the context, and the rest.
fn parameters(sig: &Signature) -> syn::Result<(bool, Requests)> {
    let mut mistakes = Mistakes::default();
    let mut takes_context = false;
    let mut values = Vec::new();
    let typed = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => Some(typed),
    });
    for (index, typed) in typed.enumerate() {
        let ty = &*typed.ty;
        if last_segment(ty).is_some_and(|last| last.ident == "CallContext") {
            takes_context = true;
            if index > 0 {
                let text = "the `CallContext` comes first: it is none of the parameters";
                mistakes.tell(ty.span(), text);
            }
        } else if let Some(ident) = mistakes.take(parameter_name(&typed.pat)) {
            mistakes.take(value(ty));
            values.push((ident, ty.clone()));
        }
    }
    if let Some((ident, _)) = values.get(MAX_PARAMETERS) {
        let text = format!("a method of a service has {MAX_PARAMETERS} parameters at most");
        mistakes.tell(ident.span(), text);
    }
    let stream = values.iter().find_map(|(ident, ty)| {
        let item = argument_of(ty, "Streaming")?;
        Some((ident.clone(), Box::new(item.clone())))
    });
    let requests = match stream {
        Some((ident, item)) if values.len() == 1 => Requests::Stream(ident, item),
        Some((ident, _)) => {
            mistakes.tell(
                ident.span(),
                "there are no other parameters beside a stream",
            );
            Requests::Values(values)
        }
        None => Requests::Values(values),
    };
    mistakes.or((takes_context, requests))
}

fn parameter_name(pattern: &Pat) -> syn::Result<Ident> {
    if let Pat::Ident(name) = pattern
        && name.by_ref.is_none()
        && name.mutability.is_none()
        && name.subpat.is_none()
    {
        return Ok(name.ident.clone());
    }
    let text = "a parameter has a plain name here; implementations may have a pattern";
    Err(Error::new(pattern.span(), text))
}

/// A parameter has a value.
fn value(ty: &Type) -> syn::Result<()> {
    match ty {
        Type::Tuple(tuple) if tuple.elems.is_empty() => {
            let text = "`()` is what a method without a result gives; a parameter has a value";
            Err(Error::new(ty.span(), text))
        }
        _ => owned(ty),
    }
}

/// Values come from the wire and go there: there is nothing to borrow from.
fn owned(ty: &Type) -> syn::Result<()> {
    let text = match ty {
        Type::Reference(_) => "a service takes and gives values that are owned, such as `String`",
        Type::ImplTrait(_) => "a service takes and gives values of types that both sides know",
        _ => return Ok(()),
    };
    Err(Error::new(ty.span(), text))
}

impl Requests {
    pub(super) fn are_values(&self) -> bool {
        matches!(self, Self::Values(_))
    }

    fn check_types(&self, span: Span, types: &[String]) -> syn::Result<()> {
        let text = match self {
            Self::Stream(..) => {
                "a stream is a `StreamObserver` in Java, and nothing else".to_owned()
            }
            Self::Values(values) if values.len() == types.len() => return Ok(()),
            Self::Values(values) => {
                format!("{} Java types, {} parameters", types.len(), values.len())
            }
        };
        Err(Error::new(span, text))
    }
}

impl Answer {
    fn parse(sig: &Signature) -> syn::Result<Self> {
        let wanted = "a method of a service returns a `Result<_, Status>`";
        let ReturnType::Type(_, result) = &sig.output else {
            return Err(Error::new(sig.ident.span(), wanted));
        };
        // An alias has one argument; the error is in it.
        let Some(ty) = argument_of(result, "Result") else {
            return Err(Error::new(result.span(), wanted));
        };
        owned(ty)?;
        Ok(Self {
            result: Type::clone(result),
            ty: ty.clone(),
            item: argument_of(ty, "Streaming").cloned(),
        })
    }

    /// The type of each message.
    pub(super) fn message(&self) -> &Type {
        self.item.as_ref().unwrap_or(&self.ty)
    }

    fn is_nothing(&self) -> bool {
        matches!(&self.ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    }
}

/// The first type in the angle brackets, if the last name of the path is `name`.
fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let last = last_segment(ty).filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

const ATTRIBUTE: &str = "dubbo";

const OPTIONS: [&str; 5] = ["idempotent", "name", "oneway", "returns", "types"];

/// As many as there are tuples for.
const MAX_PARAMETERS: usize = 16;
