//! The macros of the framework.
//!
//! Nothing else belongs to what they promise: the code that they write is theirs to change.

mod code;
mod derive;
mod java;
mod mistakes;
mod options;
mod service;

use proc_macro::TokenStream;
use syn::{DeriveInput, Path, parse_macro_input, parse_quote};

/// Makes a struct or an enum a Java class: implements `ToHessian`, `FromHessian` and `JavaType`.
///
/// ```
/// use dubbo_hessian2::{Hessian, from_slice, to_vec}; // or dubbo::Hessian
///
/// #[derive(Debug, PartialEq, Hessian)]
/// #[hessian(class = "com.example.Person")]
/// struct Person {
///     full_name: String, // `fullName` in Java
///     email: Option<String>,
/// }
///
/// #[derive(Debug, PartialEq, Hessian)]
/// #[hessian(class = "com.example.Employee")]
/// struct Employee {
///     #[hessian(flatten)] // `class Employee extends Person`
///     person: Person,
///     #[hessian(rename = "id")]
///     number: i64,
///     #[hessian(default)]
///     level: Level,
///     #[hessian(skip)]
///     seen: bool,
/// }
///
/// #[derive(Debug, Default, PartialEq, Hessian)]
/// #[hessian(class = "com.example.Level")]
/// enum Level {
///     #[default]
///     Junior,
///     VerySenior, // `VERY_SENIOR` in Java
/// }
///
/// let ada = Employee {
///     person: Person { full_name: "Ada".to_owned(), email: None },
///     number: 1,
///     level: Level::VerySenior,
///     seen: false,
/// };
/// assert_eq!(from_slice::<Employee>(&to_vec(&ada)?)?, ada);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Of the type:
///
/// | option | |
/// |---|---|
/// | `class = "com.example.User"` | the full name in Java; must be given |
/// | `rename_all = "camelCase"` | how names are made of Rust's: `camelCase` (the default of fields), `PascalCase`, `snake_case`, `SCREAMING_SNAKE_CASE` (the default of constants) |
/// | `crate = "path"` | where the codec is, when it is not where its name says |
///
/// Of a field. Fields come in any order, and unknown ones are passed over. A field that is null or missing has the value
/// that null means for its type (`None`, `0`, `""`, an empty collection); a type without one is an error, so use `Option`.
///
/// | option | |
/// |---|---|
/// | `rename = "id"` | the name in Java |
/// | `default`, `default = "path"` | when it is null or missing: its `Default`, or what a function gives |
/// | `skip` | it does not travel; reading gives its default |
/// | `flatten` | it is the superclass, another struct that derives `Hessian`: its fields are fields of this object |
///
/// Of a variant, which is one constant of an enum. A constant without a variant is an error that names it.
///
/// | option | |
/// |---|---|
/// | `rename = "RED"` | the name in Java |
/// | `other` | on `Other(String)`: all other constants, each with its name |
#[proc_macro_derive(Hessian, attributes(hessian))]
pub fn hessian(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input), parse_quote!(::dubbo::hessian2))
}

/// As [`Hessian`](macro@Hessian), for crates that depend on `dubbo-hessian2` alone.
#[proc_macro_derive(StandaloneHessian, attributes(hessian))]
pub fn standalone_hessian(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input), parse_quote!(::dubbo_hessian2))
}

fn derive(input: DeriveInput, hessian: Path) -> TokenStream {
    derive::expand(input, hessian)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a trait a service for Java: the trait, a server and a client, as for a service of a proto file.
#[proc_macro_attribute]
pub fn service(options: TokenStream, item: TokenStream) -> TokenStream {
    service::expand(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
