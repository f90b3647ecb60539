//! Finding the method that a caller means.

use std::{borrow::Cow, fmt, sync::Arc};

use super::{JavaSignature, MethodRef, ServiceDescriptor};

impl ServiceDescriptor {
    /// Finds a method: by its exact name, else by its name with the first letter in the other case.
    ///
    /// `docs/spec/triple.md` §1.5: Java callers write `sayHello` where Go and proto files have `SayHello`. Nothing
    /// else is lenient, and an exact match always wins.
    pub fn find(self: &Arc<Self>, name: &str) -> Option<MethodRef> {
        let exact = self.methods().iter().position(|m| m.name == name);
        let index = exact.or_else(|| {
            self.methods()
                .iter()
                .position(|m| same_but_first_letter(&m.name, name))
        })?;
        Some(MethodRef::new(Arc::clone(self), index))
    }

    /// Finds a method of a Java interface by its exact name and the JVM's descriptor of its parameters.
    pub fn find_exact(self: &Arc<Self>, name: &str, descriptor: &str) -> Option<MethodRef> {
        let index = self.methods().iter().position(|method| {
            let signature = method.java.as_ref();
            method.name == name && signature.is_some_and(|java| java.descriptor() == descriptor)
        })?;
        Some(MethodRef::new(Arc::clone(self), index))
    }

    /// Finds a method of a Java interface by its name, in either case of the first letter, and by the Java types of its
    /// parameters. Callers of other languages know no Java types, so a name that one method alone has with so many
    /// parameters is enough (`docs/spec/dubbo-protocol.md` §12).
    ///
    /// # Errors
    ///
    /// There is no such method, or there are several and the types are those of none.
    pub fn find_overload(
        self: &Arc<Self>,
        name: &str,
        types: Types<'_>,
    ) -> Result<MethodRef, NoMethod> {
        let candidates = self.called(name);
        let found = |index: usize| MethodRef::new(Arc::clone(self), index);
        let no_method = |kind| NoMethod {
            service: self.interface().to_owned(),
            name: name.to_owned(),
            kind,
        };
        let signatures = || {
            let all = candidates.iter().map(|index| self.signature(*index));
            all.map(|java| java.map_or_else(String::new, ToString::to_string))
                .collect()
        };
        if candidates.is_empty() {
            let known = self.method_names().into_iter().map(str::to_owned).collect();
            return Err(no_method(NoMethodKind::Name { known }));
        }
        let overloaded = candidates.len() > 1;
        let fits = |index: &usize| {
            let parameters = self
                .signature(*index)
                .map_or(&[][..], JavaSignature::parameters);
            let count = self
                .signature(*index)
                .map_or(1, |java| java.parameters().len());
            match types {
                Types::Named(types) => {
                    let same = || {
                        types
                            .iter()
                            .zip(parameters)
                            .all(|(a, b)| may_stand_for(a, b))
                    };
                    types.len() == count && (!overloaded || same())
                }
                Types::Count(wanted) => wanted == count,
                Types::Unknown => true,
            }
        };
        let exact = |index: &&usize| match types {
            Types::Named(types) => self
                .signature(**index)
                .is_some_and(|java| java.parameters().iter().eq(types.iter())),
            Types::Count(_) | Types::Unknown => false,
        };
        if let Some(index) = candidates.iter().find(exact) {
            return Ok(found(*index));
        }
        let mut fitting = candidates.iter().copied().filter(fits);
        match (fitting.next(), fitting.next(), types) {
            (Some(one), None, _) => Ok(found(one)),
            (None, _, Types::Count(got)) => Err(no_method(NoMethodKind::Count {
                got,
                signatures: signatures(),
            })),
            (None, _, Types::Named(types)) if !overloaded => Err(no_method(NoMethodKind::Count {
                got: types.len(),
                signatures: signatures(),
            })),
            (_, _, types) => Err(no_method(NoMethodKind::Overloaded {
                named: match types {
                    Types::Named(types) => Some(types.join(", ")),
                    Types::Count(_) | Types::Unknown => None,
                },
                signatures: signatures(),
            })),
        }
    }

    /// The positions of the methods called `name`, or so but for the case of the first letter.
    fn called(&self, name: &str) -> Vec<usize> {
        let positions = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let methods = self.methods().iter().enumerate();
            let same = methods.filter(|(_, method)| same(&method.name));
            same.map(|(index, _)| index).collect()
        };
        let exact = positions(&|other| other == name);
        if exact.is_empty() {
            positions(&|other| same_but_first_letter(other, name))
        } else {
            exact
        }
    }

    fn signature(&self, index: usize) -> Option<&JavaSignature> {
        self.methods()[index].java.as_deref()
    }
}

/// Whether a caller that derives types from its values may call a parameter `declared` by the type `given`: dubbo-go
/// names wrappers, arrays and lists as its values are, has `V` for null, and nothing or `Object` for what it does not know.
fn may_stand_for(given: &str, declared: &str) -> bool {
    let unboxed = |name: &str| {
        let boxed = BOXED.iter().find(|(boxed, _)| *boxed == name);
        boxed.map_or_else(|| name.to_owned(), |(_, primitive)| (*primitive).to_owned())
    };
    let many = |name: &str| name.starts_with('[') || COLLECTIONS.contains(&name);
    given == declared
        || UNKNOWN.contains(&given)
        || declared == "java.lang.Object"
        || unboxed(given) == unboxed(declared)
        || (many(given) && many(declared))
}

const UNKNOWN: [&str; 4] = ["", "V", "java.lang.Object", "void"];

const COLLECTIONS: [&str; 4] = [
    "java.util.Collection",
    "java.util.List",
    "java.util.Set",
    "java.lang.Iterable",
];

const BOXED: [(&str, &str); 8] = [
    ("java.lang.Boolean", "boolean"),
    ("java.lang.Byte", "byte"),
    ("java.lang.Character", "char"),
    ("java.lang.Double", "double"),
    ("java.lang.Float", "float"),
    ("java.lang.Integer", "int"),
    ("java.lang.Long", "long"),
    ("java.lang.Short", "short"),
];

/// What a caller says about the parameters of the method that it means.
#[derive(Debug, Clone, Copy)]
pub enum Types<'a> {
    /// Their Java types, which may be wrong.
    Named(&'a [Cow<'a, str>]),
    /// How many there are.
    Count(usize),
    /// Nothing.
    Unknown,
}

/// A method that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMethod {
    service: String,
    name: String,
    kind: NoMethodKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NoMethodKind {
    Name {
        known: Vec<String>,
    },
    Count {
        got: usize,
        signatures: Vec<String>,
    },
    Overloaded {
        named: Option<String>,
        signatures: Vec<String>,
    },
}

impl fmt::Display for NoMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, name, .. } = self;
        let list = |signatures: &[String]| {
            let all = signatures.iter();
            let all: Vec<_> = all.map(|types| format!("{name}({types})")).collect();
            all.join(", ")
        };
        match &self.kind {
            NoMethodKind::Name { known } => write!(
                f,
                "`{service}` has no method `{name}`; there are {}",
                known.join(", ")
            ),
            NoMethodKind::Count { got, signatures } => write!(
                f,
                "`{service}` has no method `{name}` with {got} parameters; there is {}",
                list(signatures)
            ),
            NoMethodKind::Overloaded {
                named: Some(types),
                signatures,
            } => write!(
                f,
                "`{service}` has several methods `{name}`, and none for the parameter types ({types}): {}",
                list(signatures)
            ),
            NoMethodKind::Overloaded {
                named: None,
                signatures,
            } => write!(
                f,
                "`{service}` has several methods `{name}`; name the types of the parameters: {}",
                list(signatures)
            ),
        }
    }
}

impl std::error::Error for NoMethod {}

fn same_but_first_letter(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.chars(), b.chars());
    match (a.next(), b.next()) {
        (Some(x), Some(y)) => x.to_lowercase().eq(y.to_lowercase()) && a.as_str() == b.as_str(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{CallKind, MethodDescriptor};

    #[test]
    fn only_the_first_letter_of_a_method_is_lenient_and_exact_wins() {
        let service = Arc::new(ServiceDescriptor::new(
            "a.B",
            ["Greet", "lowerCase", "LowerCase", "Éa"]
                .map(|name| MethodDescriptor::new(name, CallKind::Unary))
                .to_vec(),
        ));
        for (asked, found) in [
            ("Greet", Some("Greet")),
            ("greet", Some("Greet")),
            ("GREET", None),
            ("lowerCase", Some("lowerCase")),
            ("LowerCase", Some("LowerCase")),
            ("lowercase", None),
            ("éa", Some("Éa")),
            ("", None),
        ] {
            let got = service.find(asked);
            assert_eq!(got.as_ref().map(MethodRef::name), found, "{asked}");
        }
    }

    fn user_service() -> Arc<ServiceDescriptor> {
        let method = |name: &'static str, parameters: &[&'static str]| {
            let parameters = parameters.iter().copied();
            MethodDescriptor::java(name, CallKind::Unary, parameters, "java.lang.String")
        };
        Arc::new(ServiceDescriptor::new(
            "x.Users",
            vec![
                method("getUser", &["java.lang.String"]),
                method("overload", &["java.lang.String"]),
                method("overload", &["int"]),
                method("overload", &["java.lang.String", "int"]),
                method("sum", &["[I", "[Lcom.x.Foo$Bar;", "long"]),
                method("$echo", &["java.lang.Object"]),
            ],
        ))
    }

    #[test]
    fn descriptors_are_those_of_the_jvm() {
        let service = user_service();
        for (index, want) in [
            (0, "Ljava/lang/String;"),
            (3, "Ljava/lang/String;I"),
            (4, "[I[Lcom/x/Foo$Bar;J"),
        ] {
            let method = &service.methods()[index];
            let java = method.java.as_ref().expect("of Java");
            assert_eq!(java.descriptor(), want);
            let found = service.find_exact(&method.name, want).expect("there");
            assert_eq!(found.index(), index);
        }
        assert!(service.find_exact("overload", "J").is_none());
        assert_eq!(service.method_names(), ["getUser", "overload", "sum"]);
    }

    #[test]
    fn an_overloaded_method_is_chosen_by_types_and_any_other_by_name_and_count() {
        let service = user_service();
        let named = |name: &str, types: &[&'static str]| {
            let types: Vec<Cow<'_, str>> = types.iter().copied().map(Cow::Borrowed).collect();
            service
                .find_overload(name, Types::Named(&types))
                .map(|method| method.index())
                .map_err(|error| error.to_string())
        };
        for (name, types, want) in [
            ("overload", &["int"][..], 2),
            ("overload", &["java.lang.Integer"], 2),
            ("overload", &["java.lang.String", "V"], 3),
            ("overload", &["java.lang.Object", "int"], 3),
            // Go knows no Java types.
            ("getUser", &["V"], 0),
            ("getUser", &["long"], 0),
            ("GetUser", &["java.lang.String"], 0),
            ("sum", &["java.util.List", "java.util.List", "long"], 4),
        ] {
            assert_eq!(named(name, types), Ok(want), "{name}{types:?}");
        }
        for (name, types, part) in [
            (
                "overload",
                &["long"][..],
                "none for the parameter types (long): overload(java.lang.String), overload(int)",
            ),
            (
                "overload",
                &["java.lang.String", "long"],
                "(java.lang.String, long)",
            ),
            ("overload", &["V"], "none for the parameter types (V)"),
            ("overload", &[], "none for the parameter types ()"),
            ("getUser", &[], "no method `getUser` with 0 parameters"),
            ("nope", &[], "there are getUser, overload, sum"),
        ] {
            let error = named(name, types).expect_err("not there");
            assert!(error.contains(part), "{error}");
        }
        let counted = |count| service.find_overload("overload", count).map(|m| m.index());
        assert_eq!(counted(Types::Count(2)), Ok(3));
        assert!(counted(Types::Count(1)).is_err());
        let error = counted(Types::Unknown).expect_err("several").to_string();
        assert!(
            error.contains("name the types of the parameters: overload("),
            "{error}"
        );
    }
}
