//! `null` stands for an absent field.
//!
//! The protobuf JSON mapping accepts it for every field. pbjson-build accepts it where the Rust field is an `Option` and
//! reads all others as `field__ = Some(... map_.next_value::<T>()? ...)`; they are changed into
//! `field__ = map_.next_value::<Option<T>>()?.map(|value| ... value ...)`.

use syn::{
    Expr, ExprAssign, ExprMethodCall, GenericArgument, Type, parse_quote,
    visit_mut::{self, VisitMut},
};

/// Changes how fields are read.
pub(super) struct Null;

impl VisitMut for Null {
    fn visit_expr_assign_mut(&mut self, node: &mut ExprAssign) {
        let Expr::Call(call) = &*node.right else {
            return;
        };
        let is_some = matches!(&*call.func, Expr::Path(func) if func.path.is_ident("Some"));
        let Some(inner) = call.args.first().filter(|_| is_some) else {
            return;
        };
        let mut changed = inner.clone();
        let mut reading = Reading { read: None };
        reading.visit_expr_mut(&mut changed);
        if let Some(read) = reading.read {
            *node.right = match &changed {
                Expr::Path(_) => read,
                _ => parse_quote!(#read.map(|value| #changed)),
            };
        }
    }
}

/// Finds `map_.next_value::<T>()?`, takes it out as a reading of `Option<T>` and leaves `value` in its place.
struct Reading {
    read: Option<Expr>,
}

impl VisitMut for Reading {
    fn visit_expr_mut(&mut self, node: &mut Expr) {
        if let Expr::Try(tried) = node
            && let Expr::MethodCall(call) = &*tried.expr
            && call.method == "next_value"
        {
            let (map, of) = (&call.receiver, asked_type(call));
            self.read = Some(parse_quote! {
                #map.next_value::<::core::option::Option<#of>>()?
            });
            *node = parse_quote!(value);
        } else {
            visit_mut::visit_expr_mut(self, node);
        }
    }
}

fn asked_type(call: &ExprMethodCall) -> Type {
    let argument = call.turbofish.as_ref().and_then(|given| given.args.first());
    match argument {
        Some(GenericArgument::Type(of)) => of.clone(),
        _ => parse_quote!(_),
    }
}
