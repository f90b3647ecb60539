//! The code of a service: the trait, the server, the client and the descriptor.
//!
//! It stands in a module full of types that others name, so every path is absolute: from a crate, or from `self`.

use heck::ToShoutySnakeCase;
use proc_macro2::{Ident, Literal, TokenStream};
use prost_build::{Comments, Method, Service, ServiceGenerator};
use prost_types::method_options::IdempotencyLevel;
use quote::{format_ident, quote};

use crate::extern_paths::ExternPaths;

/// Writes services after the messages of their file.
pub(crate) struct Services {
    /// The module that has what generated code uses.
    pub(crate) core: syn::Path,
    pub(crate) elsewhere: ExternPaths,
    pub(crate) json: bool,
}

impl ServiceGenerator for Services {
    fn generate(&mut self, service: Service, buf: &mut String) {
        let parts = Parts::new(self, &service);
        let items = [
            parts.descriptor(),
            parts.interface(),
            parts.server(),
            parts.client(),
        ];
        buf.extend(items.map(|item| item.to_string()));
    }
}

/// The constant with the encoded descriptors of a package that has services.
pub(crate) fn file_descriptor_set(encoded: &[u8]) -> TokenStream {
    let encoded = Literal::byte_string(encoded);
    let set = set_name();
    quote! {
        /// The encoded `google.protobuf.FileDescriptorSet` of the services here and of all that they use.
        pub const #set: &[u8] = #encoded;
    }
}

fn set_name() -> Ident {
    format_ident!("FILE_DESCRIPTOR_SET")
}

struct Parts<'a> {
    core: &'a syn::Path,
    /// The full name of the service.
    name: String,
    interface: Ident,
    server: Ident,
    client: Ident,
    descriptor: Ident,
    doc: TokenStream,
    deprecated: TokenStream,
    rpcs: Vec<Rpc>,
}

struct Rpc {
    index: Literal,
    wire_name: String,
    name: Ident,
    kind: Kind,
    input: Side,
    output: Side,
    idempotent: bool,
    no_side_effects: bool,
    doc: TokenStream,
    deprecated: TokenStream,
}

/// The messages in one direction.
struct Side {
    proto: String,
    rust: TokenStream,
    adapter: TokenStream,
}

#[derive(Clone, Copy)]
enum Kind {
    BidiStream,
    ClientStream,
    ServerStream,
    Unary,
}

impl Kind {
    fn of(method: &Method) -> Self {
        match (method.client_streaming, method.server_streaming) {
            (false, false) => Self::Unary,
            (false, true) => Self::ServerStream,
            (true, false) => Self::ClientStream,
            (true, true) => Self::BidiStream,
        }
    }

    /// The variant of `CallKind`.
    fn variant(self) -> Ident {
        format_ident!(
            "{}",
            match self {
                Self::BidiStream => "BidiStream",
                Self::ClientStream => "ClientStream",
                Self::ServerStream => "ServerStream",
                Self::Unary => "Unary",
            }
        )
    }

    /// The method of `ServiceBuilder` and of `Stub`.
    fn function(self) -> Ident {
        format_ident!(
            "{}",
            match self {
                Self::BidiStream => "bidi_stream",
                Self::ClientStream => "client_stream",
                Self::ServerStream => "server_stream",
                Self::Unary => "unary",
            }
        )
    }

    fn streams_requests(self) -> bool {
        matches!(self, Self::BidiStream | Self::ClientStream)
    }

    fn streams_responses(self) -> bool {
        matches!(self, Self::BidiStream | Self::ServerStream)
    }
}

impl<'a> Parts<'a> {
    fn new(services: &'a Services, service: &Service) -> Self {
        let camel = service.name.as_str();
        let dot = if service.package.is_empty() { "" } else { "." };
        let rpcs = service.methods.iter().enumerate();
        Self {
            core: &services.core,
            name: format!("{}{dot}{}", service.package, service.proto_name),
            interface: format_ident!("{camel}"),
            server: format_ident!("{camel}Server"),
            client: format_ident!("{camel}Client"),
            descriptor: format_ident!("{}_DESCRIPTOR", camel.to_shouty_snake_case()),
            doc: doc(&service.comments),
            deprecated: deprecated(service.options.deprecated()),
            rpcs: rpcs
                .map(|(index, method)| Rpc::new(services, index, method))
                .collect(),
        }
    }

    fn descriptor(&self) -> TokenStream {
        let Self {
            core,
            name,
            descriptor,
            ..
        } = self;
        let set = set_name();
        let about = format!(" What is known of the service `{name}` at run time.");
        let methods = self.rpcs.iter().map(|rpc| {
            let (wire_name, kind) = (&rpc.wire_name, rpc.kind.variant());
            let (input, output) = (&rpc.input.proto, &rpc.output.proto);
            let idempotent = rpc.idempotent;
            let no_side_effects = rpc.no_side_effects;
            quote! {
                #core::MethodDescriptor {
                    input: #core::Cow::Borrowed(#input),
                    output: #core::Cow::Borrowed(#output),
                    idempotent: #idempotent,
                    no_side_effects: #no_side_effects,
                    ..#core::MethodDescriptor::new(#wire_name, #core::CallKind::#kind)
                }
            }
        });
        quote! {
            #[doc = #about]
            pub static #descriptor: #core::LazyLock<::std::sync::Arc<#core::ServiceDescriptor>> =
                #core::LazyLock::new(|| {
                    let methods = ::std::vec::Vec::from([#(#methods),*]);
                    ::std::sync::Arc::new(
                        #core::ServiceDescriptor::new(#name, methods)
                            .with_file_descriptor_set(self::#set),
                    )
                });
        }
    }

    fn interface(&self) -> TokenStream {
        let Self {
            core,
            name,
            interface,
            server,
            doc,
            deprecated,
            ..
        } = self;
        let about = format!(" The service `{name}`. [`{server}`] serves an implementation.");
        let doc = if doc.is_empty() {
            quote!(#[doc = #about])
        } else {
            quote!(#doc #[doc = ""] #[doc = #about])
        };
        let message = format!("`{{Self}}` does not implement the service `{name}`");
        let label = format!("the trait `{interface}` is not implemented for it");
        let names: Vec<_> = self
            .rpcs
            .iter()
            .map(|rpc| format!("`{}`", rpc.name))
            .collect();
        let how = match names.as_slice() {
            [] => String::new(),
            names => format!(", with an `async fn` for each rpc: {}", names.join(", ")),
        };
        let note = format!("write `impl {interface} for {{Self}}`{how}");
        let methods = self.rpcs.iter().map(|rpc| {
            let Rpc {
                name,
                doc,
                deprecated,
                ..
            } = rpc;
            let (input, output) = (rpc.request(core), rpc.response(core));
            quote! {
                #doc
                #deprecated
                fn #name(
                    &self,
                    request: #core::Request<#input>,
                ) -> impl ::core::future::Future<
                    Output = ::core::result::Result<#core::Response<#output>, #core::Status>,
                > + ::core::marker::Send;
            }
        });
        quote! {
            #doc
            #deprecated
            #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
            pub trait #interface: ::core::marker::Send + ::core::marker::Sync + 'static {
                #(#methods)*
            }
        }
    }

    fn server(&self) -> TokenStream {
        let Self {
            core,
            name,
            interface,
            server,
            descriptor,
            ..
        } = self;
        let about =
            format!(" Serves the service `{name}` with an implementation of [`{interface}`].");
        let title = server.to_string();
        let handlers = self.rpcs.iter().map(|rpc| {
            let Rpc { index, name, .. } = rpc;
            let function = rpc.kind.function();
            let (input, output) = (&rpc.input.adapter, &rpc.output.adapter);
            quote! {
                let builder = {
                    let handler = ::std::sync::Arc::clone(&server.handler);
                    builder.#function::<#input, #output, _, _>(#index, move |request| {
                        let handler = ::std::sync::Arc::clone(&handler);
                        async move { self::#interface::#name(&*handler, request).await }
                    })
                };
            }
        });
        quote! {
            #[doc = #about]
            pub struct #server<T> {
                handler: ::std::sync::Arc<T>,
            }

            impl<T: self::#interface> #server<T> {
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

            impl<T: self::#interface> ::core::convert::From<#server<T>> for #core::Service {
                #[allow(deprecated, unused_variables)]
                fn from(server: #server<T>) -> Self {
                    let descriptor = ::std::sync::Arc::clone(&self::#descriptor);
                    let builder = #core::Service::builder(descriptor, ::core::any::type_name::<T>());
                    #(#handlers)*
                    builder.build()
                }
            }
        }
    }

    fn client(&self) -> TokenStream {
        let Self {
            core,
            name,
            client,
            descriptor,
            deprecated,
            ..
        } = self;
        let about = format!(" Calls the service `{name}`.");
        let methods = self.rpcs.iter().map(|rpc| {
            let Rpc {
                index,
                name,
                doc,
                deprecated,
                ..
            } = rpc;
            let function = rpc.kind.function();
            let (input, output) = (&rpc.input.adapter, &rpc.output.adapter);
            let (message, response) = (&rpc.input.rust, rpc.response(core));
            let (argument, argument_type, value) = if rpc.kind.streams_requests() {
                let stream = quote! {
                    impl #core::Stream<Item = #message> + ::core::marker::Send + 'static
                };
                (quote!(requests), stream, quote!(requests))
            } else {
                let request = quote!(impl ::core::convert::Into<#core::Request<#message>>);
                (
                    quote!(request),
                    request,
                    quote!(::core::convert::Into::into(request)),
                )
            };
            quote! {
                #doc
                #deprecated
                pub fn #name(
                    &self,
                    #argument: #argument_type,
                ) -> #core::Call<'_, #core::Response<#response>> {
                    self.stub.#function::<#input, #output>(#index, #value)
                }
            }
        });
        quote! {
            #[doc = #about]
            #deprecated
            #[derive(Clone, Debug)]
            pub struct #client {
                stub: #core::Stub,
            }

            impl #client {
                #(#methods)*
            }

            impl #core::Client for #client {
                fn descriptor() -> &'static ::std::sync::Arc<#core::ServiceDescriptor> {
                    &self::#descriptor
                }

                fn from_stub(stub: #core::Stub) -> Self {
                    Self { stub }
                }
            }
        }
    }
}

impl Rpc {
    fn new(services: &Services, index: usize, method: &Method) -> Self {
        let level = method.options.idempotency_level();
        Self {
            index: Literal::usize_unsuffixed(index),
            wire_name: method.proto_name.clone(),
            name: syn::parse_str(&method.name)
                .expect("invariant: the names were checked, and prost escapes keywords"),
            kind: Kind::of(method),
            input: Side::new(services, &method.input_proto_type, &method.input_type),
            output: Side::new(services, &method.output_proto_type, &method.output_type),
            idempotent: level != IdempotencyLevel::IdempotencyUnknown,
            no_side_effects: level == IdempotencyLevel::NoSideEffects,
            doc: doc_or(
                &method.comments,
                &format!(" The rpc `{}`.", method.proto_name),
            ),
            deprecated: deprecated(method.options.deprecated()),
        }
    }

    /// What a handler gets in a `Request`.
    fn request(&self, core: &syn::Path) -> TokenStream {
        streaming(core, &self.input.rust, self.kind.streams_requests())
    }

    /// What a handler gives in a `Response`.
    fn response(&self, core: &syn::Path) -> TokenStream {
        streaming(core, &self.output.rust, self.kind.streams_responses())
    }
}

fn streaming(core: &syn::Path, message: &TokenStream, streams: bool) -> TokenStream {
    if streams {
        quote!(#core::Streaming<#message>)
    } else {
        message.clone()
    }
}

impl Side {
    /// `proto` has the leading dot; `rust` is relative to the module, unless the type is elsewhere.
    fn new(services: &Services, proto: &str, rust: &str) -> Self {
        let ty: syn::Type = syn::parse_str(rust)
            .expect("invariant: extern paths were parsed before, and prost escapes keywords");
        let rust = if services.elsewhere.contains(proto) {
            quote!(#ty)
        } else {
            quote!(self::#ty)
        };
        let core = &services.core;
        let adapter = if services.json {
            quote!(#core::ProtoJson<#rust>)
        } else {
            quote!(#core::Proto<#rust>)
        };
        Self {
            proto: proto[1..].to_owned(),
            rust,
            adapter,
        }
    }
}

fn doc(comments: &Comments) -> TokenStream {
    let mut text = String::new();
    comments.append_with_indent(0, &mut text);
    // What is left are comments that belong to nothing.
    let lines = text.lines().filter_map(|line| line.strip_prefix("///"));
    quote!(#(#[doc = #lines])*)
}

fn doc_or(comments: &Comments, default: &str) -> TokenStream {
    let doc = doc(comments);
    if doc.is_empty() {
        quote!(#[doc = #default])
    } else {
        doc
    }
}

fn deprecated(deprecated: bool) -> TokenStream {
    if deprecated {
        quote!(#[deprecated])
    } else {
        TokenStream::new()
    }
}
