//! Values that pbjson-build writes or reads otherwise than the protobuf JSON mapping has them.
//!
//! Which they are is known by the message and the field that the generated code names. They are handed to what
//! `dubbo_core::codegen::json` has for them; numbers and enums are everywhere.

use std::collections::BTreeMap;

use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, MessageOptions,
    field_descriptor_proto::{Label, Type as FieldType},
};
use syn::{
    Arm, Expr, ExprCast, ExprMethodCall, GenericArgument, ItemImpl, Lit, Path, PathArguments, Type,
    parse_quote,
    visit_mut::{self, VisitMut},
};

use crate::extern_paths::ExternPaths;

/// The fields with values of a kind of their own, by the full name of their message.
pub(super) struct Kinds(BTreeMap<String, Fields>);

/// By both names that a field has.
type Fields = BTreeMap<String, Kind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Floats,
    Masks,
    Timestamps,
    /// A `Value`, for which `null` is one.
    Value,
    /// Those within others.
    Values,
}

impl Kinds {
    /// Those of the messages of `files`. Types of the user's own in place of the well-known ones are theirs to write.
    pub(super) fn of(files: &[FileDescriptorProto], elsewhere: &ExternPaths) -> Self {
        let mut kinds = BTreeMap::new();
        for file in files {
            for message in &file.message_type {
                let name = format!("{}.{}", file.package(), message.name());
                collect(&name, message, elsewhere, &mut kinds);
            }
        }
        Self(kinds)
    }
}

fn collect(
    name: &str,
    message: &DescriptorProto,
    elsewhere: &ExternPaths,
    kinds: &mut BTreeMap<String, Fields>,
) {
    let mut fields = Fields::new();
    for field in &message.field {
        if let Some(kind) = kind(field, message, elsewhere) {
            fields.insert(field.name().to_owned(), kind);
            fields.insert(field.json_name().to_owned(), kind);
        }
    }
    kinds.insert(name.to_owned(), fields);
    for nested in &message.nested_type {
        let name = format!("{name}.{}", nested.name());
        collect(&name, nested, elsewhere, kinds);
    }
}

fn kind(
    field: &FieldDescriptorProto,
    message: &DescriptorProto,
    elsewhere: &ExternPaths,
) -> Option<Kind> {
    let entry = message.nested_type.iter().find(|nested| {
        let is_entry = nested
            .options
            .as_ref()
            .is_some_and(MessageOptions::map_entry);
        is_entry && field.type_name().rsplit('.').next() == Some(nested.name())
    });
    let value = match entry {
        Some(entry) => entry.field.iter().find(|field| field.number() == 2)?,
        None => field,
    };
    if matches!(value.r#type(), FieldType::Double | FieldType::Float) {
        return Some(Kind::Floats);
    }
    if value.r#type() != FieldType::Message || !elsewhere.is_well_known(value.type_name()) {
        return None;
    }
    let kind = match value.type_name() {
        ".google.protobuf.DoubleValue" | ".google.protobuf.FloatValue" => Kind::Floats,
        ".google.protobuf.Timestamp" => Kind::Timestamps,
        ".google.protobuf.FieldMask" => Kind::Masks,
        ".google.protobuf.Value" if field.label() != Label::Repeated => Kind::Value,
        ".google.protobuf.ListValue" | ".google.protobuf.Struct" | ".google.protobuf.Value" => {
            Kind::Values
        }
        _ => return None,
    };
    // The keys of a map are read on their own, which leaves no place for another form of its values.
    let is_read = matches!(kind, Kind::Masks | Kind::Value | Kind::Values);
    (entry.is_none() || !is_read).then_some(kind)
}

/// Changes how fields are written and read.
pub(super) struct Exact<'a> {
    core: &'a Path,
    kinds: &'a Kinds,
    /// Those of the message that is looked at.
    fields: Option<&'a Fields>,
}

impl<'a> Exact<'a> {
    pub(super) fn new(core: &'a Path, kinds: &'a Kinds) -> Self {
        Self {
            core,
            kinds,
            fields: None,
        }
    }

    fn kind_of(&self, field: &Expr) -> Option<Kind> {
        self.fields?.get(&text(field)?).copied()
    }

    /// The type that stands for `kind` in what generated code calls.
    fn named(&self, kind: Kind) -> Path {
        let core = self.core;
        match kind {
            Kind::Floats => parse_quote!(#core::json::Floats),
            Kind::Masks => parse_quote!(#core::json::Masks),
            Kind::Timestamps => parse_quote!(#core::json::Timestamps),
            Kind::Value | Kind::Values => parse_quote!(#core::json::Values),
        }
    }
}

impl VisitMut for Exact<'_> {
    fn visit_item_impl_mut(&mut self, node: &mut ItemImpl) {
        let outer = self.fields;
        let mut named = Named(None);
        named.visit_item_impl_mut(node);
        // What reads a message is within, and does not name it again.
        self.fields = named.0.map_or(outer, |name| self.kinds.0.get(&name));
        visit_mut::visit_item_impl_mut(self, node);
        self.fields = outer;
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        if let Some(last) = path.segments.last()
            && last.ident == "NumberDeserialize"
        {
            let (core, arguments) = (self.core, &last.arguments);
            *path = parse_quote!(#core::json::Number #arguments);
        }
    }

    fn visit_expr_mut(&mut self, node: &mut Expr) {
        visit_mut::visit_expr_mut(self, node);
        if let Expr::MethodCall(call) = node
            && call.method == "map_err"
            && let Expr::Call(made) = &*call.receiver
            && let Expr::Path(func) = &*made.func
            && let Some(of) = called_on(&func.path, "try_from")
        {
            let (core, number) = (self.core, made.args.first());
            *node = parse_quote! {
                ::core::result::Result::<_, S::Error>::Ok(#core::json::Enum::<#of>::of(#number))
            };
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if call.method != "serialize_field" {
            return;
        }
        if let Some(kind) = call.args.first().and_then(|name| self.kind_of(name))
            && let Some(value) = call.args.get_mut(1)
        {
            let (core, kind) = (self.core, self.named(kind));
            *value = parse_quote!(&#core::json::as_json::<#kind, _>(#value));
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        visit_mut::visit_arm_mut(self, arm);
        let mut cast = Cast(false);
        cast.visit_arm_mut(arm);
        if cast.0 {
            Enums { core: self.core }.visit_arm_mut(arm);
            return;
        }
        let mut told = Told(None);
        told.visit_arm_mut(arm);
        let kind = told.0.and_then(|name| self.fields?.get(&name).copied());
        if let Some(kind @ (Kind::Masks | Kind::Value | Kind::Values)) = kind {
            let (core, named) = (self.core, self.named(kind));
            Read {
                kind,
                of: parse_quote!(#core::json::As<#named, _>),
                unwrap: parse_quote!(#core::json::As::into_inner),
            }
            .visit_arm_mut(arm);
        }
    }
}

/// Which message an implementation is for.
struct Named(Option<String>);

impl VisitMut for Named {
    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        if call.method == "serialize_struct" || call.method == "deserialize_struct" {
            self.0 = call.args.first().and_then(text);
        }
        visit_mut::visit_expr_method_call_mut(self, call);
    }
}

/// Which field an arm reads: it says so to who sent it twice.
struct Told(Option<String>);

impl VisitMut for Told {
    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        if let Expr::Path(func) = &*call.func
            && called_on(&func.path, "duplicate_field").is_some()
        {
            self.0 = call.args.first().and_then(text);
        }
        visit_mut::visit_expr_call_mut(self, call);
    }
}

/// Whether something is cast, as the values of enums alone are.
struct Cast(bool);

impl VisitMut for Cast {
    fn visit_expr_cast_mut(&mut self, _: &mut ExprCast) {
        self.0 = true;
    }
}

/// Reads enums with the numbers that no name stands for.
struct Enums<'a> {
    core: &'a Path,
}

impl VisitMut for Enums<'_> {
    fn visit_expr_mut(&mut self, node: &mut Expr) {
        visit_mut::visit_expr_mut(self, node);
        if let Expr::Cast(cast) = node {
            let value = &cast.expr;
            *node = parse_quote!(#value.number());
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if call.method == "next_value"
            && let Some(given) = &mut call.turbofish
            && let Some(GenericArgument::Type(of)) = given.args.first_mut()
        {
            let (core, of) = (self.core, innermost(of));
            *of = parse_quote!(#core::json::Enum<#of>);
        }
    }
}

/// Reads a field in a form of its own.
struct Read {
    kind: Kind,
    of: Type,
    unwrap: Path,
}

impl VisitMut for Read {
    fn visit_expr_mut(&mut self, node: &mut Expr) {
        if let Expr::Try(tried) = node
            && let Expr::MethodCall(call) = &*tried.expr
            && call.method == "next_value"
        {
            let (map, of, unwrap) = (&call.receiver, &self.of, &self.unwrap);
            *node = if self.kind == Kind::Value {
                parse_quote!(::core::option::Option::Some(#map.next_value::<#of>()?.into_inner()))
            } else {
                parse_quote!(#map.next_value::<::core::option::Option<#of>>()?.map(#unwrap))
            };
        } else {
            visit_mut::visit_expr_mut(self, node);
        }
    }
}

/// The type of the items of a list, of the values of a map, or of what may be absent; else `of` itself.
fn innermost(of: &mut Type) -> &mut Type {
    let is_around = |of: &Type| {
        let Type::Path(path) = of else { return false };
        let last = path.path.segments.last();
        last.is_some_and(|last| matches!(last.arguments, PathArguments::AngleBracketed(_)))
    };
    if !is_around(of) {
        return of;
    }
    if let Type::Path(path) = of
        && let Some(last) = path.path.segments.last_mut()
        && let PathArguments::AngleBracketed(arguments) = &mut last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.last_mut()
    {
        return innermost(inner);
    }
    unreachable!("invariant: types in turbofishes have types as their last arguments")
}

/// The type in `path` whose function `name` it is.
fn called_on(path: &Path, name: &str) -> Option<Path> {
    let mut of = path.clone();
    let last = of.segments.pop()?;
    of.segments.pop_punct();
    (last.ident == name && !of.segments.is_empty()).then_some(of)
}

fn text(literal: &Expr) -> Option<String> {
    match literal {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
