//! The code of a service: the trait, the server, the client and the descriptor, as a service of a proto file has them.
//!
//! What turns messages into values, and types into names, is in `codegen::java`.

use heck::{ToLowerCamelCase, ToShoutySnakeCase};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Attribute, Path, Type, ext::IdentExt, parse_quote};

use super::{
    method::{Method, Requests},
    parse::Service,
};
use crate::code::{at, code};

/// The items for `service`.
pub(super) fn service(service: &Service) -> TokenStream {
    let (facade, ident) = (&service.facade, &service.item.ident);
    let name = ident.unraw().to_string();
    let paths = Paths {
        core: parse_quote!(#facade::codegen),
        java: parse_quote!(#facade::codegen::java),
    };
    let server = format_ident!("{name}Server", span = ident.span());
    let client = format_ident!("{name}Client", span = ident.span());
    let descriptor = format_ident!(
        "{}_DESCRIPTOR",
        name.to_shouty_snake_case(),
        span = ident.span()
    );
    [
        interface(service, &server),
        paths.descriptor(service, &descriptor),
        paths.server(service, &server, &descriptor),
        paths.client(service, &client, &descriptor),
    ]
    .into_iter()
    .collect()
}

fn interface(service: &Service, server: &Ident) -> TokenStream {
    let (item, name) = (&service.item, &service.interface);
    let (attrs, vis, ident) = (&item.attrs, &item.vis, &item.ident);
    let supertraits = item.supertraits.iter();
    let about = format!(" The service `{name}`. [`{server}`] serves an implementation.");
    let gap = has_doc(attrs).then(|| code!(#[doc = ""]));
    let message = format!("`{{Self}}` does not implement the service `{name}`");
    let label = format!("the trait `{ident}` is not implemented for it");
    let names = service.methods.iter();
    let names: Vec<_> = names.map(|method| format!("`{}`", method.ident)).collect();
    let how = match names.as_slice() {
        [] => String::new(),
        names => format!(", with an `async fn` for each method: {}", names.join(", ")),
    };
    let note = format!("write `impl {ident} for {{Self}}`{how}");
    let methods = service.methods.iter().map(|method| {
        let Method { attrs, ident, .. } = method;
        let (inputs, result) = (&method.sig.inputs, &method.answer.result);
        quote_spanned! {at(ident)=>
            #(#attrs)*
            fn #ident(#inputs) -> impl ::core::future::Future<Output = #result> + ::core::marker::Send;
        }
    });
    code! {
        #(#attrs)*
        #gap
        #[doc = #about]
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        #vis trait #ident: #(#supertraits +)* ::core::marker::Send + ::core::marker::Sync + 'static {
            #(#methods)*
        }
    }
}

struct Paths {
    /// What all generated code uses.
    core: Path,
    java: Path,
}

impl Paths {
    fn descriptor(&self, service: &Service, descriptor: &Ident) -> TokenStream {
        let Self { core, java } = self;
        let (vis, name) = (&service.item.vis, &service.interface);
        let about = format!(" What is known of the service `{name}` at run time.");
        let option = |text: &Option<String>| {
            let text = text
                .as_ref()
                .map(|text| code!(::core::option::Option::Some(#text)));
            text.unwrap_or_else(|| code!(::core::option::Option::None))
        };
        let (version, group) = (option(&service.version), option(&service.group));
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
        let Self { core, java } = self;
        let name_of = |ty: &Type| quote_spanned!(at(ty)=> #java::Declared::of::<#ty>());
        let parameters = match (&method.types, &method.requests) {
            (Some(types), _) => Some(code!(.parameters_as([#(#types),*]))),
            (None, Requests::Values(values)) if !values.is_empty() => {
                let names = values.iter().map(|(_, ty)| name_of(ty));
                Some(code!(.parameters([#(#names),*])))
            }
            (None, _) => None,
        };
        let names = match &method.requests {
            Requests::Values(values) if !values.is_empty() => {
                let names = values.iter();
                let names = names.map(|(ident, _)| ident.unraw().to_string().to_lower_camel_case());
                Some(code!(.names([#(#names),*])))
            }
            Requests::Values(_) | Requests::Stream(..) => None,
        };
        let requests = match &method.requests {
            Requests::Stream(_, item) => {
                let name = name_of(item);
                Some(code!(.requests(#name)))
            }
            Requests::Values(_) => None,
        };
        let returns = method.returns.as_ref().map(|name| code!(#name));
        let returns = returns.unwrap_or_else(|| name_of(method.answer.message()));
        let name = &method.name;
        let (kind, _) = kind(method);
        let oneway = method.oneway.then(|| code!(.oneway()));
        let idempotent = method.idempotent.then(|| code!(.idempotent()));
        code! {
            #java::MethodSpec::new(#name)
                #parameters
                #names
                #requests
                .returns(#returns)
                .kind(#core::CallKind::#kind)
                #oneway
                #idempotent
        }
    }

    fn server(&self, service: &Service, server: &Ident, descriptor: &Ident) -> TokenStream {
        let core = &self.core;
        let (vis, interface) = (&service.item.vis, &service.item.ident);
        let about = format!(
            " Serves the service `{}` with an implementation of [`{interface}`].",
            service.interface
        );
        let title = server.to_string();
        let methods = service.methods.iter().enumerate();
        let handlers = methods.map(|(index, method)| self.handler(index, method, interface));
        code! {
            #[doc = #about]
            #[allow(dead_code, unreachable_pub)]
            #vis struct #server<T> {
                handler: ::std::sync::Arc<T>,
            }

            #[allow(dead_code, unreachable_pub)]
            impl<__Handler: #interface> #server<__Handler> {
                /// Serves with `handler`.
                pub fn new(handler: __Handler) -> Self {
                    Self::from_arc(::std::sync::Arc::new(handler))
                }

                /// Serves with a handler that others hold too.
                pub fn from_arc(handler: ::std::sync::Arc<__Handler>) -> Self {
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

            // The trait and the methods' types are named in here, so the parameter has a name that none of them has.
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

    fn handler(&self, index: usize, method: &Method, interface: &Ident) -> TokenStream {
        let core = &self.core;
        let index = Literal::usize_unsuffixed(index);
        let Method { ident, answer, .. } = method;
        let (_, function) = kind(method);
        let (input, output) = self.adapters(method);
        let taken = if method.takes_context {
            code!(let (message, context) = #core::Request::into_message_and_context(request);)
        } else {
            code!(let message = #core::Request::into_message(request);)
        };
        let passed = method.takes_context.then(|| code!(context));
        let arguments = match &method.requests {
            Requests::Stream(..) => vec![code!(message)],
            Requests::Values(values) => {
                let places = (0..values.len()).map(Literal::usize_unsuffixed);
                places.map(|place| code!(message.#place)).collect()
            }
        };
        let arguments = passed.into_iter().chain(arguments);
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
                        #taken
                        let answer = #interface::#ident(&*handler, #(#arguments),*).await;
                        #answer
                        ::core::result::Result::map(answer, #core::Response::new)
                    }
                })
            };
        }
    }

    fn client(&self, service: &Service, client: &Ident, descriptor: &Ident) -> TokenStream {
        let core = &self.core;
        let vis = &service.item.vis;
        let about = format!(" Calls the service `{}`.", service.interface);
        let methods = service.methods.iter().enumerate();
        let calls = methods.map(|(index, method)| self.call(index, method));
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
        let kept = |a: &&Attribute| a.path().is_ident("deprecated") || a.path().is_ident("doc");
        let attrs = method.attrs.iter().filter(kept);
        let about = (!has_doc(&method.attrs)).then(|| {
            let about = format!(" Calls `{}`.", method.name);
            code!(#[doc = #about])
        });
        let (_, function) = kind(method);
        let (input, output) = self.adapters(method);
        let (parameters, message) = match &method.requests {
            Requests::Stream(ident, item) => (
                code!(#ident: impl #core::Stream<Item = #item> + ::core::marker::Send + 'static),
                code!(#ident),
            ),
            Requests::Values(values) => {
                let (idents, types): (Vec<_>, Vec<_>) =
                    values.iter().map(|(ident, ty)| (ident, ty)).unzip();
                (
                    code!(#(#idents: #types),*),
                    code!(#core::Request::new((#(#idents,)*))),
                )
            }
        };
        code! {
            #(#attrs)*
            #about
            pub fn #ident(&self, #parameters) -> #core::Call<'_, #core::Response<#response>> {
                self.stub.#function::<#input, #output>(#index, #message)
            }
        }
    }

    /// What turns the messages of both directions into values.
    fn adapters(&self, method: &Method) -> (TokenStream, TokenStream) {
        let java = &self.java;
        let value = |ty: &Type| code!(#java::Ret<#ty>);
        let input = match &method.requests {
            Requests::Stream(_, item) => value(item),
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
    let values = method.requests.are_values();
    let (variant, function) = match (values, method.answer.item.is_some()) {
        (true, false) => ("Unary", "unary"),
        (true, true) => ("ServerStream", "server_stream"),
        (false, false) => ("ClientStream", "client_stream"),
        (false, true) => ("BidiStream", "bidi_stream"),
    };
    // A type that is no value is told at the method that has it.
    let ident = |name| Ident::new(name, at(&method.ident));
    (ident(variant), ident(function))
}

fn has_doc(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("doc"))
}
