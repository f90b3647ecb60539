//! A method of a service.

use heck::ToLowerCamelCase;
use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, Lit, Pat, PathArguments, PathSegment,
    ReceiverKind, ReturnType, Safety, Signature, TraitItemFn, Type, ext::IdentExt,
    meta::ParseNestedMeta, spanned::Spanned,
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
    Stream { ident: Ident, item: Type },
    Values(Vec<(Ident, Type)>),
}

/// What a handler gives.
pub(super) struct Answer {
    /// The type in the `Result`.
    pub(super) ty: Type,
    /// What it is a stream of.
    pub(super) item: Option<Type>,
    /// The `Result`.
    pub(super) result: Type,
}

impl Method {
    pub(super) fn parse(item: &TraitItemFn) -> syn::Result<Self> {
        let mut mistakes = Mistakes::default();
        let options = mistakes.take(MethodOptions::parse(&item.attrs));
        check_form(item, &mut mistakes);
        let parameters = mistakes.take(parameters(&item.sig));
        let answer = mistakes.take(Answer::parse(&item.sig));
        let parsed = options.zip(parameters).zip(answer);
        if let Some(((options, (_, requests)), answer)) = &parsed {
            mistakes.take(options.check(requests, answer));
        }
        let parsed = mistakes.or(parsed)?;
        let ((options, (takes_context, requests)), answer) =
            parsed.expect("invariant: what is not there is a mistake");
        let ours = |attribute: &&Attribute| attribute.path().is_ident(ATTRIBUTE);
        let ident = item.sig.ident.clone();
        Ok(Self {
            attrs: item.attrs.iter().filter(|a| !ours(a)).cloned().collect(),
            sig: item.sig.clone(),
            name: options
                .name
                .unwrap_or_else(|| ident.unraw().to_string().to_lower_camel_case()),
            ident,
            takes_context,
            requests,
            answer,
            types: options.types.map(|(_, types)| types),
            returns: options.returns,
            oneway: options.oneway.is_some(),
            idempotent: options.idempotent.is_some(),
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
            (None, Requests::Stream { .. }) => Vec::new(),
        };
        // `void m(A, StreamObserver)` and `StreamObserver m(StreamObserver)` have one parameter more.
        let observes =
            self.answer.item.is_some() || matches!(self.requests, Requests::Stream { .. });
        (types, observes)
    }
}

#[derive(Default)]
struct MethodOptions {
    name: Option<String>,
    types: Option<(Span, Vec<String>)>,
    returns: Option<String>,
    oneway: Option<Span>,
    idempotent: Option<()>,
}

impl MethodOptions {
    fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut parsed = Self::default();
        options::read(attributes, ATTRIBUTE, |meta| {
            match options::name(meta).as_str() {
                "idempotent" => options::set(&mut parsed.idempotent, meta, ()),
                "name" => {
                    let name = java::identifier(meta)?;
                    options::set(&mut parsed.name, meta, name)
                }
                "oneway" => options::set(&mut parsed.oneway, meta, meta.path.span()),
                "returns" => {
                    let returns = java::type_name(&options::string(meta)?)?;
                    options::set(&mut parsed.returns, meta, returns)
                }
                "types" => options::set(&mut parsed.types, meta, type_names(meta)?),
                _ => {
                    let known = ["idempotent", "name", "oneway", "returns", "types"];
                    Err(options::unknown(meta, &known))
                }
            }
        })?;
        Ok(parsed)
    }

    /// Whether they go with the rest.
    fn check(&self, requests: &Requests, answer: &Answer) -> syn::Result<()> {
        match (&self.types, requests) {
            (Some((span, _)), Requests::Stream { .. }) => {
                let text =
                    "a stream of requests is a `StreamObserver` in Java; there are no other types";
                return Err(Error::new(*span, text));
            }
            (Some((span, types)), Requests::Values(values)) if types.len() != values.len() => {
                let text = format!(
                    "there are {} Java types for {} parameters",
                    types.len(),
                    values.len()
                );
                return Err(Error::new(*span, text));
            }
            _ => {}
        }
        let Some(span) = self.oneway else {
            return Ok(());
        };
        let gives_nothing = matches!(&answer.ty, Type::Tuple(tuple) if tuple.elems.is_empty());
        if !gives_nothing || matches!(requests, Requests::Stream { .. }) {
            let text = "nobody waits for the answer of a one-way method: it takes values and returns \
                        `Result<(), Status>`";
            return Err(Error::new(span, text));
        }
        Ok(())
    }
}

/// `types = ["java.lang.String", "int"]`
fn type_names(meta: &ParseNestedMeta<'_>) -> syn::Result<(Span, Vec<String>)> {
    let value: Expr = meta.value()?.parse()?;
    let wanted = "expected a list of Java types, such as `[\"java.lang.String\", \"int\"]`";
    let Expr::Array(array) = &value else {
        return Err(Error::new(value.span(), wanted));
    };
    let names = array.elems.iter().map(|element| match element {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => java::type_name(text),
        other => Err(Error::new(other.span(), wanted)),
    });
    Ok((value.span(), names.collect::<syn::Result<_>>()?))
}

fn check_form(item: &TraitItemFn, mistakes: &mut Mistakes) {
    let sig = &item.sig;
    if sig.asyncness.is_none() {
        let text = "a method of a service is an `async fn`";
        mistakes.add(Error::new(sig.fn_token.span(), text));
    }
    let plain = sig.constness.is_none()
        && matches!(sig.safety, Safety::Default)
        && sig.abi.is_none()
        && sig.variadic.is_none();
    if !plain {
        let text = "a method of a service is a plain `async fn`";
        mistakes.add(Error::new(sig.ident.span(), text));
    }
    if !sig.generics.params.is_empty() || sig.generics.where_clause.is_some() {
        let text =
            "a method of a service is not generic: what it takes and gives is known to both sides";
        mistakes.add(Error::new(sig.generics.span(), text));
    }
    let by_reference = sig
        .receiver()
        .is_some_and(|receiver| matches!(receiver.kind, ReceiverKind::Reference(_, None, None)));
    if !by_reference {
        let span = sig.receiver().map_or(sig.ident.span(), Spanned::span);
        let text =
            "a method of a service takes `&self`: one implementation serves all calls at once";
        mistakes.add(Error::new(span, text));
    }
    if let Some(body) = &item.default {
        let text = "a method of a service has no body here: who implements the service writes it";
        mistakes.add(Error::new(body.span(), text));
    }
    if let Some(attribute) = item.attrs.iter().find(|a| a.path().is_ident("cfg")) {
        let text = "both sides have all methods of a service; a `cfg` is for the whole trait";
        mistakes.add(Error::new(attribute.span(), text));
    }
}

/// Whether the first one is the context, and the rest.
fn parameters(sig: &Signature) -> syn::Result<(bool, Requests)> {
    let mut mistakes = Mistakes::default();
    let mut takes_context = false;
    let mut values = Vec::new();
    let mut stream = None;
    let typed = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => Some(typed),
    });
    for (index, typed) in typed.enumerate() {
        let Some(ident) = mistakes.take(parameter_name(&typed.pat)) else {
            continue;
        };
        if last_segment(&typed.ty).is_some_and(|last| last.ident == "CallContext") {
            takes_context = true;
            if index > 0 {
                let text = "the `CallContext` comes before the parameters: callers do not pass it";
                mistakes.add(Error::new(typed.ty.span(), text));
            }
            continue;
        }
        match arguments_of(&typed.ty, "Streaming").as_deref() {
            Some([item]) => stream = Some((ident.clone(), Type::clone(item))),
            _ => mistakes.take(owned(&typed.ty)).unwrap_or_default(),
        }
        values.push((ident, Type::clone(&typed.ty)));
    }
    let requests = match stream {
        Some((ident, item)) if values.len() == 1 => Requests::Stream { ident, item },
        Some((ident, _)) => {
            let text = "a stream of requests has no other parameters beside it";
            mistakes.add(Error::new(ident.span(), text));
            Requests::Values(values)
        }
        None => Requests::Values(values),
    };
    if let Requests::Values(values) = &requests
        && let Some((ident, _)) = values.get(MAX_PARAMETERS)
    {
        let text = format!("a method of a service has {MAX_PARAMETERS} parameters at most");
        mistakes.add(Error::new(ident.span(), text));
    }
    mistakes.or((takes_context, requests))
}

fn parameter_name(pattern: &Pat) -> syn::Result<Ident> {
    match pattern {
        Pat::Ident(name)
            if name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none() =>
        {
            Ok(name.ident.clone())
        }
        _ => {
            let text = "a parameter has a plain name here; implementations may have a pattern";
            Err(Error::new(pattern.span(), text))
        }
    }
}

/// Values come from the wire and go there: there is nothing to borrow from.
fn owned(ty: &Type) -> syn::Result<()> {
    let text = match ty {
        Type::Reference(_) => "a service takes and gives owned values, such as `String`",
        Type::ImplTrait(_) => "a service takes and gives values of types known to both sides",
        _ => return Ok(()),
    };
    Err(Error::new(ty.span(), text))
}

impl Answer {
    fn parse(sig: &Signature) -> syn::Result<Self> {
        let wanted = "a method of a service returns a `Result<_, Status>`";
        let ReturnType::Type(_, result) = &sig.output else {
            return Err(Error::new(sig.ident.span(), wanted));
        };
        let ty = match arguments_of(result, "Result").as_deref() {
            // With one, it is an alias that has the error.
            Some([ty] | [ty, _]) => Type::clone(ty),
            _ => return Err(Error::new(result.span(), wanted)),
        };
        owned(&ty)?;
        let item = match arguments_of(&ty, "Streaming").as_deref() {
            Some([item]) => Some(Type::clone(item)),
            _ => None,
        };
        Ok(Self {
            ty,
            item,
            result: Type::clone(result),
        })
    }

    /// The type of each message.
    pub(super) fn message(&self) -> &Type {
        self.item.as_ref().unwrap_or(&self.ty)
    }
}

/// The types in the angle brackets, if the last name of the path is `name`.
fn arguments_of<'a>(ty: &'a Type, name: &str) -> Option<Vec<&'a Type>> {
    let last = last_segment(ty).filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let types = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

const ATTRIBUTE: &str = "dubbo";

/// As many as the support has tuples for.
const MAX_PARAMETERS: usize = 16;
