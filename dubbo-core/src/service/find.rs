//! Finding the method that a caller means.

use std::{borrow::Cow, fmt, sync::Arc};

use super::{MethodRef, ServiceDescriptor};

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
        let called = |exact: bool| -> Vec<usize> {
            let methods = self.methods().iter().enumerate();
            let same = methods.filter(|(_, method)| {
                method.name == name || (!exact && same_but_first_letter(&method.name, name))
            });
            same.map(|(index, _)| index).collect()
        };
        let mut candidates = called(true);
        if candidates.is_empty() {
            candidates = called(false);
        }
        let no_method = |kind| NoMethod {
            service: self.interface().to_owned(),
            name: name.to_owned(),
            kind,
        };
        if candidates.is_empty() {
            let known = self.method_names().into_iter().map(str::to_owned).collect();
            return Err(no_method(NoMethodKind::Name { known }));
        }
        let found = |index: usize| MethodRef::new(Arc::clone(self), index);
        let signature = |index: &usize| self.methods()[*index].java.as_deref();
        let parameters = |index: &usize| signature(index).map_or(1, |java| java.parameters().len());
        if let Types::Named(types) = types
            && let Some(&index) = candidates.iter().find(|index| {
                signature(index).is_some_and(|java| java.parameters().iter().eq(types.iter()))
            })
        {
            return Ok(found(index));
        }
        let signatures = || {
            let all = candidates.iter();
            all.map(|index| signature(index).map_or_else(String::new, ToString::to_string))
                .collect()
        };
        let count = match types {
            Types::Named(types) => Some(types.len()),
            Types::Count(count) => Some(count),
            Types::Unknown => None,
        };
        let fitting: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|index| count.is_none_or(|count| parameters(index) == count))
            .collect();
        match fitting.as_slice() {
            [one] => Ok(found(*one)),
            [] => Err(no_method(NoMethodKind::Count {
                got: count.unwrap_or_default(),
                signatures: signatures(),
            })),
            _ => Err(no_method(NoMethodKind::Overloaded {
                signatures: signatures(),
            })),
        }
    }
}

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
    Name { known: Vec<String> },
    Count { got: usize, signatures: Vec<String> },
    Overloaded { signatures: Vec<String> },
}

impl fmt::Display for NoMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, name, .. } = self;
        match &self.kind {
            NoMethodKind::Name { known } => write!(
                f,
                "`{service}` has no method `{name}`; there are {}",
                known.join(", ")
            ),
            NoMethodKind::Count { got, signatures } => write!(
                f,
                "`{service}` has no method `{name}` with {got} parameters; there is {}",
                signatures
                    .iter()
                    .map(|parameters| format!("{name}({parameters})"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            NoMethodKind::Overloaded { signatures } => write!(
                f,
                "`{service}` has several methods `{name}`, and the parameter types that came are those of none: {}",
                signatures
                    .iter()
                    .map(|parameters| format!("{name}({parameters})"))
                    .collect::<Vec<_>>()
                    .join(", ")
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
        assert_eq!(named("overload", &["int"]), Ok(2));
        assert_eq!(named("overload", &["java.lang.String", "long"]), Ok(3));
        assert_eq!(named("getUser", &["V"]), Ok(0), "Go knows no Java types");
        assert_eq!(named("GetUser", &["java.lang.String"]), Ok(0));
        for (name, types, part) in [
            (
                "overload",
                &["long"][..],
                "overload(java.lang.String), overload(int)",
            ),
            ("getUser", &[], "no method `getUser` with 0 parameters"),
            ("nope", &[], "there are getUser, overload, sum"),
        ] {
            let error = named(name, types).expect_err("not there");
            assert!(error.contains(part), "{error}");
        }
        let counted = |count| service.find_overload("overload", count).map(|m| m.index());
        assert_eq!(counted(Types::Count(2)), Ok(3));
        assert!(counted(Types::Count(1)).is_err());
        assert!(counted(Types::Unknown).is_err());
    }
}
