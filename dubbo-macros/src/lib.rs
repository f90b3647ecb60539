//! The macros of the framework.
//!
//! What they write calls hidden parts of `dubbo` and `dubbo-hessian2`, and changes with them.

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
/// | `class = "com.example.User"` | the full name in Java; must be given. Java looks for this class, so a wrong name fails there or becomes a map; a peer in Rust binds by the names of fields and does not notice it |
/// | `rename_all = "camelCase"` | how names are made of Rust's: `camelCase` (the default of fields), `PascalCase`, `snake_case`, `SCREAMING_SNAKE_CASE` (the default of constants) |
/// | `crate = "path"` | where the codec is, when it is not where its name says |
///
/// Of a field, whose type implements the same traits. Fields come in any order, and unknown ones are passed over. A field
/// that is null or missing has the value that null means for its type (`None`, `0`, `""`, an empty collection); a type
/// without one is an error, so use `Option`.
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

/// Makes a service of a trait, for interfaces that Java and Go know without an IDL: an implementation is served and
/// called over the `dubbo` protocol and over Triple, with Hessian values.
///
/// ```
/// use std::collections::HashMap;
///
/// use dubbo::{CallContext, Hessian, Status, Streaming, service};
///
/// #[derive(Debug, Clone, Hessian)]
/// #[hessian(class = "com.example.User")]
/// pub struct User {
///     pub id: String,
///     pub age: i32,
/// }
///
/// /// Users.
/// #[service(interface = "com.example.UserService", version = "1.0.0")]
/// pub trait UserService {
///     /// `User getUser(String id)`
///     async fn get_user(&self, id: String) -> Result<Option<User>, Status>;
///     /// `Map<String, Integer> ages()`; the call that is served is none of the parameters.
///     async fn ages(&self, context: CallContext) -> Result<HashMap<String, i32>, Status>;
///     /// `void watch(String id, StreamObserver<User> users)`
///     async fn watch(&self, id: String) -> Result<Streaming<User>, Status>;
///     /// `User getUser(String id, int age)`
///     #[dubbo(name = "getUser", idempotent)]
///     async fn get_user_of_age(&self, id: String, age: i32) -> Result<Option<User>, Status>;
/// }
///
/// struct Users;
///
/// impl UserService for Users {
///     async fn get_user(&self, id: String) -> Result<Option<User>, Status> {
///         Ok(Some(User { id, age: 42 }))
///     }
/// #   async fn ages(&self, _: CallContext) -> Result<HashMap<String, i32>, Status> { Ok(HashMap::new()) }
/// #   async fn watch(&self, _: String) -> Result<Streaming<User>, Status> { Err(Status::unimplemented("")) }
/// #   async fn get_user_of_age(&self, id: String, age: i32) -> Result<Option<User>, Status> { Ok(Some(User { id, age })) }
///     // and the others
/// }
///
/// # async fn run(instance: dubbo::Instance) -> Result<(), Box<dyn std::error::Error>> {
/// let provided = UserServiceServer::new(Users); // InstanceBuilder::provide(provided)
/// let users: UserServiceClient = instance.refer().await?;
/// let user = users.get_user("a".to_owned()).attach("tenant", "b").await?.into_message();
/// # Ok(())
/// # }
/// ```
///
/// What comes of a trait `UserService` is what a service of a proto file has: the trait, to implement with `async fn`s
/// whose futures are `Send`; `UserServiceServer`, to provide an implementation with; `UserServiceClient`, to ask for,
/// whose methods take the same parameters and give a `Call`; and `USER_SERVICE_DESCRIPTOR`.
///
/// A method takes up to 16 values and returns a `Result` with a value or a `Streaming` of values, and a `Status`; it may
/// take a `Streaming` instead, which is `StreamObserver<A> method(StreamObserver<R>)` in Java. The first parameter may be a
/// `CallContext`, for the handler alone.
///
/// # Types
///
/// Java finds a method by its name and the types of its parameters, so these must be those of the interface:
///
/// | Java | Rust |
/// |---|---|
/// | `void` | `()` |
/// | `boolean`, `short`, `int`, `long`, `float`, `double` | `bool`, `i16`, `i32`, `i64`, `f32`, `f64` |
/// | `byte` | `i8`, or `u8` with the same bits |
/// | `char` | `char`, up to U+FFFF |
/// | `Integer`, `Long`, `Boolean` … | `Option<i32>`, `Option<i64>`, `Option<bool>` … |
/// | `String` | `String`, `Arc<str>`; `Option<String>` tells null from `""` |
/// | `byte[]` | `Vec<u8>` |
/// | `T[]` | `Box<[T]>` |
/// | `List<T>` | `Vec<T>` |
/// | `Set<T>` | `HashSet<T>`, `BTreeSet<T>` |
/// | `Map<K, V>` | `HashMap<K, V>`, `BTreeMap<K, V>` |
/// | `LinkedList`, `TreeMap` … as declared types | `dubbo::hessian2::java::LinkedList`, `TreeMap` … |
/// | a class, a record | a struct that derives [`Hessian`](macro@Hessian), `Option<T>` if it may be null, `Box<T>` if it holds itself |
/// | an enum | an enum that derives it |
/// | `java.util.Date` | `dubbo::hessian2::java::Date` |
/// | `BigDecimal`, `BigInteger`, `UUID`, `Locale`, `Class` | `dubbo::hessian2::java::{BigDecimal, BigInteger, Uuid, Locale, ClassName}` |
/// | `LocalDate`, `LocalDateTime`, `Instant`, `Duration` … | the same names in `dubbo::hessian2::java` |
/// | `Object` | `dubbo::hessian2::Value` |
/// | an interface or a superclass, anything else | any of these, with `types` |
/// | an exception that is thrown | the `Status`: `dubbo::java::exception_with` throws, `dubbo::java::thrown_as` tells |
///
/// **Null** reads as `false`, `0`, `""` or an empty collection where the Rust type is one of these, so that a provider of
/// Java's which leaves a field null breaks nothing. Use `Option` to tell null from them, and to send null. All other types
/// have no such value: null is an error for them which says so, unless they are in an `Option`.
///
/// # Beside the values
///
/// A handler sees the attachments of a request, and answers with headers and trailers, by its context. A caller sends
/// attachments with the call, and finds those of the answer in the response:
///
/// ```
/// use dubbo::{CallContext, Status, service};
///
/// #[service(interface = "com.example.Prices")]
/// pub trait Prices {
///     /// `long price(String id)`: the context is none of the parameters.
///     async fn price(&self, context: CallContext, id: String) -> Result<i64, Status>;
/// }
///
/// struct Fixed;
///
/// impl Prices for Fixed {
///     async fn price(&self, context: CallContext, id: String) -> Result<i64, Status> {
///         let tenant = context.attachments().get("tenant").unwrap_or("nobody").to_owned();
///         context.reply().trailer("billed-to", tenant);
///         Ok(id.len() as i64)
///     }
/// }
///
/// # async fn call(prices: PricesClient) -> Result<(), Status> {
/// let response = prices.price("a".to_owned()).attach("tenant", "acme").await?;
/// assert_eq!(response.trailers().get("billed-to"), Some("acme"));
/// # Ok(())
/// # }
/// ```
///
/// Over Triple what `reply().header` sets arrives in `response.headers()` and what `reply().trailer` sets in
/// `response.trailers()`; the `dubbo` protocol has one place for both, and a caller finds both in `response.trailers()`.
///
/// # Options
///
/// Of the trait:
///
/// | option | |
/// |---|---|
/// | `interface = "com.example.UserService"` | the full name in Java; must be given |
/// | `version = "1.0.0"`, `group = "g"` | where it is served and called unless a configuration says otherwise |
/// | `crate = "path"` | where the facade is, when it is not `::dubbo` |
///
/// Of a method, in `#[dubbo(...)]`:
///
/// | option | |
/// |---|---|
/// | `name = "getUser"` | the name in Java, instead of the Rust name in camelCase; methods of one name take different types. A configuration, too, knows a method by this name |
/// | `types = ["java.lang.Object", "[I"]` | the Java types of the parameters as `Class.getName()` gives them, one for each, instead of those of the Rust types: names of Java classes, never of Rust's |
/// | `returns = "java.lang.Object"` | the same for the result |
/// | `oneway` | there is no value, and callers over `dubbo` do not wait for an answer; over Triple they wait for its end |
/// | `idempotent` | repeating a call does no harm |
///
/// Callers who write JSON over plain HTTP may give several arguments by name: those of the parameters, in camelCase.
#[proc_macro_attribute]
pub fn service(options: TokenStream, item: TokenStream) -> TokenStream {
    service::expand(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
