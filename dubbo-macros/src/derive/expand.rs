//! The code for a class.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{GenericParam, Generics, Path, Type, parse_quote};

use super::parse::{Absent, Body, Class, Enum, Field, Struct};
use crate::code::{at, code};

/// The traits for `class`.
pub(super) fn class(class: &Class) -> TokenStream {
    let Class {
        hessian,
        ident,
        name,
        ..
    } = class;
    let support = parse_quote!(#hessian::derive_support);
    let traits = match &class.body {
        Body::Enum(body) => enumeration(class, body, &support),
        Body::Struct(body) => structure(class, body, &support),
    };
    let generics = match &class.body {
        Body::Enum(_) => class.generics.clone(),
        Body::Struct(body) => generics(class, body, None, &parse_quote!(#support::Object)),
    };
    let described = match &class.body {
        Body::Enum(body) => {
            let names = body.constants.iter().map(|(_, name)| name);
            code!(types.enumeration(#name, &[#(#names),*]))
        }
        Body::Struct(_) => {
            code!(types.class(#name, <Self as #support::Object>::describe_fields))
        }
    };
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    code! {
        const _: () = {
            #traits

            #[automatically_derived]
            impl #impl_generics #hessian::JavaType for #ident #ty_generics #where_clause {
                fn java_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
                    ::std::borrow::Cow::Borrowed(#name)
                }

                fn describe(
                    types: &mut #hessian::Types,
                ) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
                    #described
                }
            }
        };
    }
}

fn structure(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    let Class { hessian, ident, .. } = class;
    let bounds = |own: Option<Path>, superclass| generics(class, body, own.as_ref(), &superclass);
    let known = bounds(None, parse_quote!(#support::Object));
    let writable = bounds(
        Some(parse_quote!(#hessian::ToHessian)),
        parse_quote!(#support::WriteObject),
    );
    let readable = bounds(
        Some(parse_quote!(#hessian::FromHessian)),
        parse_quote!(#support::ReadObject),
    );
    let (known_impl, ty_generics, known_where) = known.split_for_impl();
    let (write_impl, _, write_where) = writable.split_for_impl();
    let (read_impl, _, read_where) = readable.split_for_impl();
    let shape = shape(class, body, support);
    let described = describe(class, body, support);
    let write = write(class, body, support);
    let read = read(class, body, support);
    let decode = decode(class, body, support);
    code! {
        #[automatically_derived]
        impl #known_impl #support::Object for #ident #ty_generics #known_where {
            const SHAPE: &'static #hessian::Shape = #shape;

            fn describe_fields(fields: &mut #hessian::Fields<'_>) {
                #described
            }
        }

        #[automatically_derived]
        impl #write_impl #support::WriteObject for #ident #ty_generics #write_where {
            fn write_fields(
                &self,
                encoder: &mut #hessian::Encoder,
            ) -> ::core::result::Result<(), #hessian::EncodeError> {
                #write
                ::core::result::Result::Ok(())
            }
        }

        #[automatically_derived]
        impl #write_impl #hessian::ToHessian for #ident #ty_generics #write_where {
            fn encode(
                &self,
                encoder: &mut #hessian::Encoder,
            ) -> ::core::result::Result<(), #hessian::EncodeError> {
                #support::write(self, encoder)
            }
        }

        #[automatically_derived]
        impl #read_impl #support::ReadObject for #ident #ty_generics #read_where {
            fn read<'decoder>(
                decoder: &mut #hessian::Decoder<'decoder>,
                shape: &'static #hessian::Shape,
                first: ::core::primitive::usize,
                mut others: impl ::core::ops::FnMut(
                    &mut #hessian::Decoder<'decoder>,
                    ::core::primitive::usize,
                ) -> ::core::result::Result<(), #hessian::DecodeError>,
            ) -> ::core::result::Result<Self, #hessian::DecodeError> {
                #read
            }
        }

        #[automatically_derived]
        impl #read_impl #hessian::FromHessian for #ident #ty_generics #read_where {
            fn decode(
                decoder: &mut #hessian::Decoder<'_>,
            ) -> ::core::result::Result<Self, #hessian::DecodeError> {
                #decode
            }
        }
    }
}

/// The shape: a static, which is found by its address, unless it has the names of a superclass with parameters.
fn shape(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    let Class { hessian, name, .. } = class;
    let names = body.fields.iter().map(|field| &field.name);
    let own = code!(&[#(#names),*]);
    let fields = body.inherited.as_ref().map(|(_, ty)| {
        let twice = format!("`{name}` has two fields of one name, one of them inherited");
        let inherited = quote_spanned!(at(ty)=> <#ty as #support::Object>::SHAPE.fields);
        code!(const { &#support::Names::join(#inherited, #own, #twice) }.as_slice())
    });
    let fields = fields.unwrap_or(own);
    let shape = code!(#hessian::Shape { class: #name, fields: #fields });
    if body.inherited.is_some() && !class.generics.params.is_empty() {
        code!(&#shape)
    } else {
        code!({ static SHAPE: #hessian::Shape = #shape; &SHAPE })
    }
}

/// The fields with their types. One that has a parameter of the class in its type is an `Object`, as in Java, which
/// erases it.
fn describe(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    let hessian = &class.hessian;
    let inherited = body.inherited.iter().map(
        |(_, ty)| quote_spanned!(at(ty)=> <#ty as #support::Object>::describe_fields(fields);),
    );
    let is_erased = |ty: &Type| {
        let mut parameters = class.generics.type_params();
        parameters.any(|parameter| mentions(ty.to_token_stream(), &parameter.ident))
    };
    let own = body.fields.iter().map(|Field { ty, name, .. }| {
        if is_erased(ty) {
            code!(fields.add::<#hessian::Value>(#name);)
        } else {
            quote_spanned!(at(ty)=> fields.add::<#ty>(#name);)
        }
    });
    inherited.chain(own).collect()
}

fn write(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    let hessian = &class.hessian;
    let inherited = body.inherited.iter().map(|(ident, ty)| {
        quote_spanned! {at(ty)=>
            <#ty as #support::WriteObject>::write_fields(&self.#ident, encoder)?;
        }
    });
    let own = body.fields.iter().map(|Field { ident, ty, .. }| {
        quote_spanned! {at(ty)=>
            <#ty as #hessian::ToHessian>::encode(&self.#ident, encoder)?;
        }
    });
    inherited.chain(own).collect()
}

/// Reads the fields from `first` on, in an object of `shape`, and leaves the rest to `others`.
fn read(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    let hessian = &class.hessian;
    let slot = |index| format_ident!("field_{index}", span = Span::mixed_site());
    let slots: Vec<_> = (0..body.fields.len()).map(slot).collect();
    let types = body.fields.iter().map(|field| &field.ty);
    let arms = body.fields.iter().enumerate().map(|(index, field)| {
        let (slot, ty) = (&slots[index], &field.ty);
        let index = Literal::usize_unsuffixed(index);
        let value = match field.absent {
            Absent::Null => quote_spanned! {at(ty)=>
                ::core::option::Option::Some(<#ty as #hessian::FromHessian>::decode(decoder)?)
            },
            Absent::Default | Absent::From(_) => quote_spanned! {at(ty)=>
                #support::nullable_field::<#ty>(decoder)?
            },
        };
        code! {
            #index => {
                #slot = #value;
                ::core::result::Result::Ok(())
            }
        }
    });
    let (start, object) = match &body.inherited {
        None => (code!(first), code!(decoder.read_struct(shape, own)?;)),
        Some((_, ty)) => (
            quote_spanned!(at(ty)=> first + <#ty as #support::Object>::SHAPE.fields.len()),
            quote_spanned! {at(ty)=>
                let inherited = <#ty as #support::ReadObject>::read(decoder, shape, first, own)?;
            },
        ),
    };
    let inherited = body
        .inherited
        .iter()
        .map(|(ident, _)| code!(#ident: inherited));
    let own = body.fields.iter().zip(&slots).map(|(field, slot)| {
        let Field {
            ident, ty, name, ..
        } = field;
        let absent = match &field.absent {
            Absent::Null => quote_spanned! {at(ty)=>
                #support::absent::<#ty>(shape.class, #name)?
            },
            absent => default(ty, absent),
        };
        code! {
            #ident: match #slot {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #absent,
            }
        }
    });
    let skipped = body.skipped.iter().map(|(ident, ty, absent)| {
        let value = default(ty, absent);
        code!(#ident: #value)
    });
    let values = inherited.chain(own).chain(skipped);
    code! {
        #(let mut #slots: ::core::option::Option<#types> = ::core::option::Option::None;)*
        let start = #start;
        let own = |decoder: &mut #hessian::Decoder<'decoder>, index: ::core::primitive::usize| {
            match ::core::primitive::usize::wrapping_sub(index, start) {
                #(#arms)*
                _ => others(decoder, index),
            }
        };
        #object
        ::core::result::Result::Ok(Self { #(#values),* })
    }
}

/// Reads an object as a whole: field by field where they come in their order, which is what a peer with the same class
/// sends, and nothing needs to be looked up then.
fn decode(class: &Class, body: &Struct, support: &Path) -> TokenStream {
    if body.inherited.is_some() {
        return code!(#support::read(decoder));
    }
    let hessian = &class.hessian;
    let own = body.fields.iter().enumerate().map(|(index, field)| {
        let Field { ident, ty, .. } = field;
        let index = Literal::usize_unsuffixed(index);
        let value = match &field.absent {
            Absent::Null => quote_spanned! {at(ty)=>
                #support::field::<#ty>(decoder, shape, #index)?
            },
            absent => {
                let default = default(ty, absent);
                quote_spanned! {at(ty)=>
                    match #support::nullable_field_of::<#ty>(decoder, shape, #index)? {
                        ::core::option::Option::Some(value) => value,
                        ::core::option::Option::None => #default,
                    }
                }
            }
        };
        code!(#ident: #value)
    });
    let skipped = body.skipped.iter().map(|(ident, ty, absent)| {
        let value = default(ty, absent);
        code!(#ident: #value)
    });
    let values = own.chain(skipped);
    code! {
        let shape: &'static #hessian::Shape = <Self as #support::Object>::SHAPE;
        let ::core::option::Option::Some(object) = #support::begin(decoder, shape)? else {
            return #support::read(decoder);
        };
        let value = Self { #(#values),* };
        #support::end(decoder, object);
        ::core::result::Result::Ok(value)
    }
}

fn default(ty: &Type, absent: &Absent) -> TokenStream {
    match absent {
        Absent::From(function) => quote_spanned!(at(function)=> #function()),
        Absent::Default | Absent::Null => {
            quote_spanned!(at(ty)=> <#ty as ::core::default::Default>::default())
        }
    }
}

fn enumeration(class: &Class, body: &Enum, support: &Path) -> TokenStream {
    let Class {
        hessian,
        ident,
        name,
        ..
    } = class;
    let (impl_generics, ty_generics, where_clause) = class.generics.split_for_impl();
    let (variants, names): (Vec<_>, Vec<_>) = body.constants.iter().cloned().unzip();
    let (write_other, read_other) = body
        .other
        .as_ref()
        .map(|other| {
            let name = code!(::core::convert::AsRef::<::core::primitive::str>::as_ref(
                name
            ));
            (
                code!(Self::#other(name) => #name,),
                code!(name => Self::#other(::core::convert::From::from(name)),),
            )
        })
        .unwrap_or_default();
    code! {
        #[automatically_derived]
        impl #impl_generics #hessian::ToHessian for #ident #ty_generics #where_clause {
            fn encode(
                &self,
                encoder: &mut #hessian::Encoder,
            ) -> ::core::result::Result<(), #hessian::EncodeError> {
                static SHAPE: #hessian::Shape = #hessian::Shape { class: #name, fields: &["name"] };
                encoder.begin_object(&SHAPE);
                encoder.str(match self {
                    #(Self::#variants => #names,)*
                    #write_other
                });
                ::core::result::Result::Ok(())
            }
        }

        #[automatically_derived]
        impl #impl_generics #hessian::FromHessian for #ident #ty_generics #where_clause {
            fn decode(
                decoder: &mut #hessian::Decoder<'_>,
            ) -> ::core::result::Result<Self, #hessian::DecodeError> {
                let name = #support::constant(decoder, #name)?;
                ::core::result::Result::Ok(match &*name {
                    #(#names => Self::#variants,)*
                    #read_other
                    #[allow(unreachable_patterns)]
                    name => return ::core::result::Result::Err(
                        #support::unknown_constant(#name, name, &[#(#names),*])
                    ),
                })
            }
        }
    }
}

/// The parameters of the type: one in a field is bound by `own`, one that is itself the superclass by `inherited`.
fn generics(class: &Class, body: &Struct, own: Option<&Path>, inherited: &Path) -> Generics {
    let mut generics = class.generics.clone();
    let superclass = body.inherited.as_ref().map(|(_, ty)| ty);
    for parameter in &mut generics.params {
        let GenericParam::Type(parameter) = parameter else {
            continue;
        };
        let ident = &parameter.ident;
        let is_superclass =
            superclass.is_some_and(|ty| matches!(ty, Type::Path(ty) if ty.path.is_ident(ident)));
        let superclass = superclass.filter(|_| !is_superclass);
        let mut types = body.fields.iter().map(|field| &field.ty).chain(superclass);
        let in_fields = types.any(|ty| mentions(ty.to_token_stream(), ident));
        let bounds = [
            own.filter(|_| in_fields),
            is_superclass.then_some(inherited),
        ];
        let bounds = bounds.into_iter().flatten();
        parameter
            .bounds
            .extend(bounds.map(|path| -> syn::TypeParamBound { parse_quote!(#path) }));
    }
    generics
}

fn mentions(tokens: TokenStream, ident: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), ident),
        TokenTree::Ident(other) => other == *ident,
        TokenTree::Literal(_) | TokenTree::Punct(_) => false,
    })
}
