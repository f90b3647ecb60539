//! The code of a service: the trait, the server, the client and the descriptor, in the form that they have for a proto
//! file too.
//!
//! All typing is in `codegen::java`. The code stands among the items of others, so paths are absolute or the user's own,
//! and locals have spans of the macro.

use heck::ToShoutySnakeCase;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Attribute, Path, Type, ext::IdentExt, parse_quote};

use super::{
    method::{Method, Requests},
    parse::Service,
};
use crate::code::{at, code};

/// The items for `service`.
pub(super) fn service(service: &Service) -> TokenStream {
    let parts = Parts::new(service);
    let items = [
        parts.interface(),
        parts.descriptor(),
        parts.server(),
        parts.client(),
    ];
    items.into_iter().collect()
}

struct Parts<'a> {
    service: &'a Service,
    core: Path,
    java: Path,
    interface: &'a Ident,
    server: Ident,
    client: Ident,
    descriptor: Ident,
}

impl<'a> Parts<'a> {
    fn new(service: &'a Service) -> Self {
        let facade = &service.facade;
        let ident = &service.item.ident;
        let name = ident.unraw().to_string();
        let span = ident.span();
        Self {
            service,
            core: parse_quote!(#facade::codegen),
            java: parse_quote!(#facade::codegen::java),
            interface: ident,
            server: format_ident!("{name}Server", span = span),
            client: format_ident!("{name}Client", span = span),
            descriptor: format_ident!("{}_DESCRIPTOR", name.to_shouty_snake_case(), span = span),
        }
    }

    fn interface(&self) -> TokenStream {
        let Self {
            service,
            interface,
            server,
            ..
        } = self;
        let (attrs, vis) = (&service.item.attrs, &service.item.vis);
        let supertraits = service.item.supertraits.iter();
        let about = format!(
            " The service `{}`. [`{server}`] serves an implementation.",
            service.interface
        );
        let gap = has_doc(attrs).then(|| code!(#[doc = ""]));
        let message = format!(
            "`{{Self}}` does not implement the service `{}`",
            service.interface
        );
        let label = format!("the trait `{interface}` is not implemented for it");
        let names: Vec<_> = service
            .methods
            .iter()
            .map(|method| format!("`{}`", method.ident))
            .collect();
        let how = match names.as_slice() {
            [] => String::new(),
            names => format!(", with an `async fn` for each method: {}", names.join(", ")),
        };
        let note = format!("write `impl {interface} for {{Self}}`{how}");
        let methods = service.methods.iter().map(|method| {
            let Method { attrs, ident, .. } = method;
            let (inputs, result) = (&method.sig.inputs, &method.answer.result);
            quote_spanned! {at(ident)=>
                #(#attrs)*
                fn #ident(
                    #inputs
                ) -> impl ::core::future::Future<Output = #result> + ::core::marker::Send;
            }
        });
        code! {
            #(#attrs)*
            #gap
            #[doc = #about]
            #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
            #vis trait #interface:
                #(#supertraits +)* ::core::marker::Send + ::core::marker::Sync + 'static
            {
                #(#methods)*
            }
        }
    }

    fn descriptor(&self) -> TokenStream {
        let Self {
            service,
            core,
            java,
            descriptor,
            ..
        } = self;
        let (vis, name) = (&service.item.vis, &service.interface);
        let about = format!(" What is known of the service `{name}` at run time.");
        let (version, group) = (
            option(service.version.as_ref()),
            option(service.group.as_ref()),
        );
        let methods = service.methods.iter().map(|method| self.spec(method));
        code! {
            #[doc = #about]
            #[allow(dead_code, unreachable_pub)]
            #vis static #descriptor: #core::LazyLock<::std::sync::Arc<#core::ServiceDescriptor>> =
                #core::LazyLock::new(|| {
                    let methods = ::std::vec::Vec::from([#(#methods),*]);
                    ::std::sync::Arc::new(#java::descriptor(#name, #version, #group, methods))
                });
        }
    }

    fn spec(&self, method: &Method) -> TokenStream {
        let Self { core, java, .. } = self;
        let java_name = |ty: &Type| quote_spanned!(at(ty)=> <#ty as #java::JavaType>::java_name());
        let name = &method.name;
        let parameters = match (&method.types, &method.requests) {
            (Some(types), _) => Some(code!(.parameters_as([#(#types),*]))),
            (None, Requests::Values(values)) if !values.is_empty() => {
                let names = values.iter().map(|(_, ty)| java_name(ty));
                Some(code!(.parameters([#(#names),*])))
            }
            (None, _) => None,
        };
        let returns = match &method.returns {
            Some(name) => code!(#name),
            None => java_name(method.answer.message()),
        };
        let (kind, _) = kind(method);
        let oneway = method.oneway.then(|| code!(.oneway()));
        let idempotent = method.idempotent.then(|| code!(.idempotent()));
        code! {
            #java::MethodSpec::new(#name)
                #parameters
                .returns(#returns)
                .kind(#core::CallKind::#kind)
                #oneway
                #idempotent
        }
    }

    fn server(&self) -> TokenStream {
        let Self {
            service,
            core,
            interface,
            server,
            descriptor,
            ..
        } = self;
        let vis = &service.item.vis;
        let about = format!(
            " Serves the service `{}` with an implementation of [`{interface}`].",
            service.interface
        );
        let title = server.to_string();
        let handlers = service.methods.iter().enumerate();
        let handlers = handlers.map(|(index, method)| self.handler(index, method));
        code! {
            #[doc = #about]
            #[allow(dead_code, unreachable_pub)]
            #vis struct #server<T> {
                handler: ::std::sync::Arc<T>,
            }

            #[allow(dead_code, unreachable_pub)]
            impl<T: #interface> #server<T> {
                /// Serves with `handler`.
                pub fn new(handler: T) -> Self {
                    Self::from_arc(::std::sync::Arc::new(handler))
                }

                /// Serves with a handler that others hold too.
                pub fn from_arc(handler: ::std::sync::Arc<T>) -> Self {
                    Self { handler }
                }
            }

            impl<T> ::core::clone::Clone for #server<T> {
                fn clone(&self) -> Self {
                    Self { handler: ::std::sync::Arc::clone(&self.handler) }
                }
            }

            impl<T> ::core::fmt::Debug for #server<T> {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.debug_tuple(#title).field(&::core::any::type_name::<T>()).finish()
                }
            }

            // The name of the parameter is no type's: those of the methods are named in the same scope.
            impl<__Handler: #interface> ::core::convert::From<#server<__Handler>> for #core::Service {
                #[allow(deprecated, unused_variables)]
                fn from(server: #server<__Handler>) -> Self {
                    let descriptor = ::std::sync::Arc::clone(&#descriptor);
                    let builder =
                        #core::Service::builder(descriptor, ::core::any::type_name::<__Handler>());
                    #(#handlers)*
                    builder.build()
                }
            }
        }
    }

    fn handler(&self, index: usize, method: &Method) -> TokenStream {
        let Self {
            core, interface, ..
        } = self;
        let index = Literal::usize_unsuffixed(index);
        let Method { ident, answer, .. } = method;
        let (_, function) = kind(method);
        let (input, output) = self.adapters(method);
        let (context, and_context) = method
            .takes_context
            .then(|| {
                let take = code! {
                    let context = ::core::clone::Clone::clone(#core::Request::context(&request));
                };
                (take, code!(context,))
            })
            .unzip();
        let arguments = match &method.requests {
            Requests::Stream { .. } => code!(message),
            Requests::Values(values) => {
                let places = (0..values.len()).map(Literal::usize_unsuffixed);
                code!(#(message.#places),*)
            }
        };
        let ty = &answer.ty;
        // Another error than `Status` is told where it is written.
        let answer = quote_spanned! {at(&answer.result)=>
            let answer: ::core::result::Result<#ty, #core::Status> = answer;
        };
        code! {
            let builder = {
                let handler = ::std::sync::Arc::clone(&server.handler);
                builder.#function::<#input, #output, _, _>(#index, move |request| {
                    let handler = ::std::sync::Arc::clone(&handler);
                    async move {
                        #context
                        let message = #core::Request::into_message(request);
                        let answer = #interface::#ident(&*handler, #and_context #arguments).await;
                        #answer
                        ::core::result::Result::map(answer, #core::Response::new)
                    }
                })
            };
        }
    }

    fn client(&self) -> TokenStream {
        let Self {
            service,
            core,
            client,
            descriptor,
            ..
        } = self;
        let vis = &service.item.vis;
        let about = format!(" Calls the service `{}`.", service.interface);
        let calls = service.methods.iter().enumerate();
        let calls = calls.map(|(index, method)| self.call(index, method));
        code! {
            #[doc = #about]
            #[allow(dead_code, unreachable_pub)]
            #[derive(::core::clone::Clone, ::core::fmt::Debug)]
            #vis struct #client {
                stub: #core::Stub,
            }

            #[allow(clippy::too_many_arguments, dead_code, unreachable_pub)]
            impl #client {
                #(#calls)*
            }

            impl #core::Client for #client {
                fn descriptor() -> &'static ::std::sync::Arc<#core::ServiceDescriptor> {
                    &#descriptor
                }

                fn from_stub(stub: #core::Stub) -> Self {
                    Self { stub }
                }
            }
        }
    }

    fn call(&self, index: usize, method: &Method) -> TokenStream {
        let core = &self.core;
        let index = Literal::usize_unsuffixed(index);
        let (ident, response) = (&method.ident, &method.answer.ty);
        let about = (!has_doc(&method.attrs)).then(|| format!(" Calls `{}`.", method.name));
        let about = about.iter();
        let kept = ["deprecated", "doc"];
        let kept = |attribute: &&Attribute| kept.iter().any(|name| attribute.path().is_ident(name));
        let attrs = method.attrs.iter().filter(kept);
        let (_, function) = kind(method);
        let (input, output) = self.adapters(method);
        let (parameters, message) = match &method.requests {
            Requests::Stream { ident, item } => (
                quote_spanned! {at(item)=>
                    #ident: impl #core::Stream<Item = #item> + ::core::marker::Send + 'static
                },
                code!(#ident),
            ),
            Requests::Values(values) => {
                let idents: Vec<_> = values.iter().map(|(ident, _)| ident).collect();
                let types = values.iter().map(|(_, ty)| ty);
                (
                    code!(#(#idents: #types),*),
                    code!(#core::Request::new((#(#idents,)*))),
                )
            }
        };
        code! {
            #(#attrs)*
            #(#[doc = #about])*
            pub fn #ident(
                &self,
                #parameters
            ) -> #core::Call<'_, #core::Response<#response>> {
                self.stub.#function::<#input, #output>(#index, #message)
            }
        }
    }

    /// What turns the messages of both directions into values.
    fn adapters(&self, method: &Method) -> (TokenStream, TokenStream) {
        let java = &self.java;
        let value = |ty: &Type| quote_spanned!(at(ty)=> #java::Ret<#ty>);
        let input = match &method.requests {
            Requests::Stream { item, .. } => value(item),
            Requests::Values(values) => {
                let types = values.iter().map(|(_, ty)| ty);
                code!(#java::Args<(#(#types,)*)>)
            }
        };
        (input, value(method.answer.message()))
    }
}

/// The variant of `CallKind`, and the method of `ServiceBuilder` and of `Stub`.
fn kind(method: &Method) -> (Ident, Ident) {
    let streams_requests = matches!(method.requests, Requests::Stream { .. });
    let (variant, function) = match (streams_requests, method.answer.item.is_some()) {
        (false, false) => ("Unary", "unary"),
        (false, true) => ("ServerStream", "server_stream"),
        (true, false) => ("ClientStream", "client_stream"),
        (true, true) => ("BidiStream", "bidi_stream"),
    };
    let ident = |name| Ident::new(name, Span::mixed_site());
    (ident(variant), ident(function))
}

fn option(text: Option<&String>) -> TokenStream {
    match text {
        Some(text) => code!(::core::option::Option::Some(#text)),
        None => code!(::core::option::Option::None),
    }
}

fn has_doc(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("doc"))
}
