//! The code for a class.
//!
//! It stands among the items of others, so every path is absolute, and locals have spans of the macro.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{GenericParam, Generics, Path, Type, parse_quote};

use super::parse::{Absent, Body, Class, Enum, Field, Struct};
use crate::mistakes::at;

/// The traits for `class`.
pub(super) fn class(class: &Class) -> TokenStream {
    let traits = match &class.body {
        Body::Enum(body) => enumeration(class, body),
        Body::Struct(body) => structure(class, body),
    };
    let java_type = java_type(class);
    quote_spanned! {Span::mixed_site()=>
        const _: () = {
            #traits
            #java_type
        };
    }
}

fn java_type(class: &Class) -> TokenStream {
    let Class {
        hessian,
        ident,
        name,
        ..
    } = class;
    let (impl_generics, ty_generics, where_clause) = class.generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #hessian::JavaType for #ident #ty_generics #where_clause {
            fn java_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
                ::std::borrow::Cow::Borrowed(#name)
            }
        }
    }
}

fn structure(class: &Class, body: &Struct) -> TokenStream {
    let (hessian, ident) = (&class.hessian, &class.ident);
    let support = support(hessian);
    let shape = shape(class, body);
    let known = generics(class, body, None, &parse_quote!(#support::Object));
    let (known_impl, ty_generics, known_where) = known.split_for_impl();

    let to = parse_quote!(#hessian::ToHessian);
    let writable = generics(class, body, Some(&to), &parse_quote!(#support::WriteObject));
    let (write_impl, _, write_where) = writable.split_for_impl();
    let write = write(class, body);

    let from = parse_quote!(#hessian::FromHessian);
    let readable = generics(
        class,
        body,
        Some(&from),
        &parse_quote!(#support::ReadObject),
    );
    let (read_impl, _, read_where) = readable.split_for_impl();
    let read = read(class, body);

    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #known_impl #support::Object for #ident #ty_generics #known_where {
            const SHAPE: &'static #hessian::Shape = #shape;
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
                #support::read(decoder)
            }
        }
    }
}

/// The shape: a static, which is found by its address, unless it takes the names of a superclass with parameters.
fn shape(class: &Class, body: &Struct) -> TokenStream {
    let (hessian, name) = (&class.hessian, &class.name);
    let support = support(hessian);
    let names = body.fields.iter().map(|field| &field.name);
    let own = quote_spanned!(Span::mixed_site()=> [#(#names),*]);
    let fields = match &body.inherited {
        None => quote_spanned!(Span::mixed_site()=> &#own),
        Some((_, ty)) => {
            let twice = format!("`{name}` has two fields of one name, one of them inherited");
            quote_spanned! {Span::mixed_site()=>
                const {
                    &#support::Names::join(<#ty as #support::Object>::SHAPE.fields, &#own, #twice)
                }
                .as_slice()
            }
        }
    };
    let shape = quote_spanned! {Span::mixed_site()=>
        #hessian::Shape { class: #name, fields: #fields }
    };
    if body.inherited.is_some() && !class.generics.params.is_empty() {
        quote_spanned!(Span::mixed_site()=> &#shape)
    } else {
        quote_spanned! {Span::mixed_site()=>
            {
                static SHAPE: #hessian::Shape = #shape;
                &SHAPE
            }
        }
    }
}

fn write(class: &Class, body: &Struct) -> TokenStream {
    let hessian = &class.hessian;
    let support = support(hessian);
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

/// Reads the fields from `first` on, in an object of `shape`, and leaves the `others` to whose they are.
fn read(class: &Class, body: &Struct) -> TokenStream {
    let hessian = &class.hessian;
    let support = support(hessian);
    let slots: Vec<_> = (0..body.fields.len())
        .map(|index| format_ident!("field_{index}", span = Span::mixed_site()))
        .collect();
    let types = body.fields.iter().map(|field| &field.ty);
    let arms = body.fields.iter().zip(&slots).enumerate();
    let arms = arms.map(
        |(
            index,
            (
                Field {
                    ty, name, absent, ..
                },
                slot,
            ),
        )| {
            let index = Literal::usize_unsuffixed(index);
            match absent {
                Absent::Null => quote_spanned! {at(ty)=>
                    #index => #slot = ::core::option::Option::Some(
                        #support::field::<#ty>(decoder, shape.class, #name)?
                    ),
                },
                Absent::Default | Absent::From(_) => quote_spanned! {at(ty)=>
                    #index => #slot = #support::nullable::<#ty>(decoder, shape.class, #name)?,
                },
            }
        },
    );
    let (start, object) = match &body.inherited {
        None => (
            quote_spanned!(Span::mixed_site()=> first),
            quote_spanned!(Span::mixed_site()=> decoder.read_struct(shape, own)?;),
        ),
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
        .map(|(ident, _)| quote_spanned!(Span::mixed_site()=> #ident: inherited,));
    let own = body.fields.iter().zip(&slots).map(|(field, slot)| {
        let (ident, value) = (&field.ident, absent(&support, field));
        quote_spanned! {Span::mixed_site()=>
            #ident: match #slot {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #value,
            },
        }
    });
    let skipped = body.skipped.iter().map(|(ident, ty, absent)| {
        let value = default(ty, absent);
        quote_spanned!(Span::mixed_site()=> #ident: #value,)
    });
    quote_spanned! {Span::mixed_site()=>
        #(let mut #slots: ::core::option::Option<#types> = ::core::option::Option::None;)*
        let start = #start;
        let own = |decoder: &mut #hessian::Decoder<'decoder>, index: ::core::primitive::usize| {
            match ::core::primitive::usize::wrapping_sub(index, start) {
                #(#arms)*
                _ => return others(decoder, index),
            }
            ::core::result::Result::Ok(())
        };
        #object
        ::core::result::Result::Ok(Self { #(#inherited)* #(#own)* #(#skipped)* })
    }
}

/// The value of a field that is null or missing.
fn absent(support: &Path, field: &Field) -> TokenStream {
    let Field {
        ty, name, absent, ..
    } = field;
    match absent {
        Absent::Null => quote_spanned! {at(ty)=> #support::absent::<#ty>(shape.class, #name)? },
        Absent::Default | Absent::From(_) => default(ty, absent),
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

fn enumeration(class: &Class, body: &Enum) -> TokenStream {
    let Class {
        hessian,
        ident,
        name,
        ..
    } = class;
    let support = support(hessian);
    let (impl_generics, ty_generics, where_clause) = class.generics.split_for_impl();
    let (variants, names): (Vec<_>, Vec<_>) = body.constants.iter().cloned().unzip();
    let write_other = body.other.iter().map(|other| {
        quote_spanned! {Span::mixed_site()=>
            Self::#other(name) => ::core::convert::AsRef::<::core::primitive::str>::as_ref(name),
        }
    });
    let read_other = if let Some(other) = &body.other {
        quote_spanned! {Span::mixed_site()=>
            ::core::result::Result::Ok(Self::#other(::core::convert::From::from(name)))
        }
    } else {
        quote_spanned! {Span::mixed_site()=>
            ::core::result::Result::Err(#support::unknown_constant(#name, name, &[#(#names),*]))
        }
    };
    quote_spanned! {Span::mixed_site()=>
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
                    #(#write_other)*
                });
                ::core::result::Result::Ok(())
            }
        }

        #[automatically_derived]
        impl #impl_generics #hessian::FromHessian for #ident #ty_generics #where_clause {
            fn decode(
                decoder: &mut #hessian::Decoder<'_>,
            ) -> ::core::result::Result<Self, #hessian::DecodeError> {
                match &*decoder.read_enum()? {
                    #(#names => ::core::result::Result::Ok(Self::#variants),)*
                    name => #read_other,
                }
            }
        }
    }
}

/// The parameters of the type: one in a field is bound by `own`, one that is the superclass itself by `inherited`.
fn generics(class: &Class, body: &Struct, own: Option<&Path>, inherited: &Path) -> Generics {
    let mut generics = class.generics.clone();
    let superclass = body.inherited.as_ref().map(|(_, ty)| ty);
    for parameter in &mut generics.params {
        let GenericParam::Type(parameter) = parameter else {
            continue;
        };
        let is_superclass =
            |ty: &&Type| matches!(ty, Type::Path(path) if path.path.is_ident(&parameter.ident));
        let fields = body.fields.iter().map(|field| &field.ty);
        let types = fields.chain(superclass.filter(|ty| !is_superclass(ty)));
        let in_fields = { types }.any(|ty| mentions(ty.to_token_stream(), &parameter.ident));
        let bound_by_superclass = superclass.is_some_and(|ty| is_superclass(&ty));
        if bound_by_superclass {
            parameter.bounds.push(parse_quote!(#inherited));
        }
        if let (Some(own), true) = (own, in_fields) {
            parameter.bounds.push(parse_quote!(#own));
        }
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

/// What derived code calls.
fn support(hessian: &Path) -> Path {
    parse_quote!(#hessian::derive_support)
}
