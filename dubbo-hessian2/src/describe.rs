//! What Java types are made of, for whoever shows services or calls them without their classes.

use std::{borrow::Cow, collections::BTreeMap};

use crate::JavaType;

/// Java types, each described once: collected by [`JavaType::describe`], with all that they consist of.
///
/// Types are called what Java's source calls them, with the type arguments of collections and no other:
/// `java.util.List<java.lang.String>`, `byte[]`, `com.x.Outer.Inner`.
///
/// ```
/// use dubbo_hessian2::{Hessian, JavaType, Types};
///
/// #[derive(Hessian)]
/// #[hessian(class = "com.x.User")]
/// struct User {
///     id: i64,
///     friends: Vec<User>,
/// }
///
/// let mut types = Types::default();
/// assert_eq!(Vec::<User>::describe(&mut types), "java.util.List<com.x.User>");
/// let user = types.get("com.x.User").expect("in the list");
/// assert_eq!(user.properties[0], ("id".into(), "long".into()));
/// assert_eq!(user.properties[1].1, "java.util.List<com.x.User>");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Types(BTreeMap<Cow<'static, str>, TypeShape>);

impl Types {
    /// Describes a type by its name alone, as `Class.getName()` gives it; an array with its elements. Gives the name in
    /// Java's source.
    pub fn named(&mut self, name: impl Into<Cow<'static, str>>) -> Cow<'static, str> {
        let name = name.into();
        if let Some(element) = name.strip_prefix('[') {
            let element = self.named(element_name(element).into_owned());
            return self.array(element);
        }
        let name = if name.contains('$') {
            name.replace('$', ".").into()
        } else {
            name
        };
        self.0.entry(name.clone()).or_default();
        name
    }

    /// Describes an array of what is called `element`.
    pub fn array(&mut self, element: Cow<'static, str>) -> Cow<'static, str> {
        let name = format!("{element}[]");
        self.composed(name, vec![element])
    }

    /// Describes a collection of what is called `items`: one type of its elements, or those of keys and values.
    pub fn collection(
        &mut self,
        class: &'static str,
        items: Vec<Cow<'static, str>>,
    ) -> Cow<'static, str> {
        let name = format!("{class}<{}>", items.join(","));
        self.composed(name, items)
    }

    /// Describes an enum.
    pub fn enumeration(
        &mut self,
        class: &'static str,
        constants: &[&'static str],
    ) -> Cow<'static, str> {
        let name = self.named(class);
        let constants = constants.iter().map(|constant| Cow::Borrowed(*constant));
        self.shape(name.clone()).constants = constants.collect();
        name
    }

    /// Describes a class by the fields that `describe` adds, unless it is known. A class may have itself in its fields.
    pub fn class(
        &mut self,
        class: &'static str,
        describe: impl FnOnce(&mut Fields<'_>),
    ) -> Cow<'static, str> {
        let known = self.0.len();
        let name = self.named(class);
        if self.0.len() > known {
            let mut fields = Fields {
                types: self,
                properties: Vec::new(),
            };
            describe(&mut fields);
            let properties = fields.properties;
            self.shape(name.clone()).properties = properties;
        }
        name
    }

    /// The type that Java's source calls `name`.
    pub fn get(&self, name: &str) -> Option<&TypeShape> {
        self.0.get(name)
    }

    /// All of them with their names, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TypeShape)> {
        self.0.iter().map(|(name, shape)| (&**name, shape))
    }

    fn composed(&mut self, name: String, items: Vec<Cow<'static, str>>) -> Cow<'static, str> {
        let name: Cow<'static, str> = name.into();
        self.shape(name.clone()).items = items;
        name
    }

    fn shape(&mut self, name: Cow<'static, str>) -> &mut TypeShape {
        self.0.entry(name).or_default()
    }
}

impl IntoIterator for Types {
    type Item = (Cow<'static, str>, TypeShape);
    type IntoIter = std::collections::btree_map::IntoIter<Cow<'static, str>, TypeShape>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// What one Java type is made of; nothing for a scalar, a text, or a class that is known by its name alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeShape {
    /// The type of an array's elements, or the type arguments of a collection.
    pub items: Vec<Cow<'static, str>>,
    /// The constants of an enum.
    pub constants: Vec<Cow<'static, str>>,
    /// The fields of a class with their types, the inherited ones first.
    pub properties: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

/// The fields of a class that is being described.
#[derive(Debug)]
pub struct Fields<'t> {
    types: &'t mut Types,
    properties: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl Fields<'_> {
    /// Adds the field `name` and describes its type.
    pub fn add<T: JavaType + ?Sized>(&mut self, name: &'static str) {
        let described = T::describe(self.types);
        self.properties.push((name.into(), described));
    }
}

/// What stands behind a bracket in the name of an array, as the name of a type of its own.
fn element_name(element: &str) -> Cow<'_, str> {
    if let Some((_, name)) = PRIMITIVES.iter().find(|(letter, _)| *letter == element) {
        return (*name).into();
    }
    let class = element.strip_prefix('L');
    class
        .and_then(|class| class.strip_suffix(';'))
        .unwrap_or(element)
        .into()
}

const PRIMITIVES: [(&str, &str); 8] = [
    ("B", "byte"),
    ("C", "char"),
    ("D", "double"),
    ("F", "float"),
    ("I", "int"),
    ("J", "long"),
    ("S", "short"),
    ("Z", "boolean"),
];

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, HashSet},
        sync::Arc,
    };

    use bytes::Bytes;

    use super::*;
    use crate::{
        Hessian, Shared, Value,
        java::{Date, EnumSet, LinkedHashMap, LocalDateTime, Uuid},
    };

    #[derive(Hessian)]
    #[hessian(class = "com.x.Person")]
    struct Person {
        full_name: String,
        partner: Option<Shared<Self>>,
    }

    #[derive(Hessian)]
    #[hessian(class = "com.x.Office$Employee")]
    struct Employee {
        #[hessian(flatten)]
        person: Person,
        level: Option<Level>,
        photo: Vec<u8>,
        #[hessian(skip)]
        _seen: bool,
    }

    #[derive(Hessian, PartialEq, Eq, PartialOrd, Ord)]
    #[hessian(class = "com.x.Level")]
    enum Level {
        Junior,
        VerySenior,
    }

    #[derive(Hessian)]
    #[hessian(class = "com.x.Page")]
    struct Page<T> {
        number: i32,
        items: Vec<T>,
        first: Option<T>,
    }

    fn described<T: JavaType + ?Sized>() -> (String, Vec<String>) {
        let mut types = Types::default();
        let name = T::describe(&mut types).into_owned();
        let others = types.iter().map(|(name, _)| name.to_owned());
        let others = others.filter(|other| *other != name).collect();
        (name, others)
    }

    #[test]
    fn types_are_called_what_javas_source_calls_them() {
        for ((name, others), want, parts) in [
            (described::<i32>(), "int", &[][..]),
            (described::<Option<i32>>(), "java.lang.Integer", &[]),
            (described::<()>(), "void", &[]),
            (described::<&str>(), "java.lang.String", &[]),
            (described::<Option<Arc<str>>>(), "java.lang.String", &[]),
            (described::<Value>(), "java.lang.Object", &[]),
            (described::<Date>(), "java.util.Date", &[]),
            (described::<Vec<u8>>(), "byte[]", &["byte"]),
            (described::<Bytes>(), "byte[]", &["byte"]),
            (described::<Box<[u8]>>(), "byte[]", &["byte"]),
            (
                described::<Box<[Box<[i32]>]>>(),
                "int[][]",
                &["int", "int[]"],
            ),
            (
                described::<Box<[Option<String>]>>(),
                "java.lang.String[]",
                &["java.lang.String"],
            ),
            (
                described::<Vec<i64>>(),
                "java.util.List<java.lang.Long>",
                &["java.lang.Long"],
            ),
            (
                described::<Option<HashSet<String>>>(),
                "java.util.Set<java.lang.String>",
                &["java.lang.String"],
            ),
            (
                described::<BTreeMap<String, Vec<Level>>>(),
                "java.util.Map<java.lang.String,java.util.List<com.x.Level>>",
                &[
                    "com.x.Level",
                    "java.lang.String",
                    "java.util.List<com.x.Level>",
                ],
            ),
            (
                described::<LinkedHashMap<i32, bool>>(),
                "java.util.LinkedHashMap<java.lang.Integer,java.lang.Boolean>",
                &["java.lang.Boolean", "java.lang.Integer"],
            ),
            (
                described::<EnumSet<Level>>(),
                "java.util.EnumSet<com.x.Level>",
                &["com.x.Level"],
            ),
            (
                described::<LocalDateTime>(),
                "java.time.LocalDateTime",
                &[
                    "byte",
                    "int",
                    "java.time.LocalDate",
                    "java.time.LocalTime",
                    "short",
                ],
            ),
            (described::<Uuid>(), "java.util.UUID", &["long"]),
        ] {
            assert_eq!(
                (&*name, others),
                (want, parts.iter().map(ToString::to_string).collect())
            );
        }
    }

    #[test]
    fn a_class_has_its_fields_and_those_that_it_inherits_and_may_hold_itself() {
        let mut types = Types::default();
        assert_eq!(Employee::describe(&mut types), "com.x.Office.Employee");
        let fields = |class: &str| -> Vec<String> {
            let shape = types.get(class).expect("described");
            let fields = shape.properties.iter();
            fields.map(|(name, ty)| format!("{name}: {ty}")).collect()
        };
        assert_eq!(
            fields("com.x.Office.Employee"),
            [
                "fullName: java.lang.String",
                "partner: com.x.Person",
                "level: com.x.Level",
                "photo: byte[]",
            ]
        );
        assert_eq!(
            fields("com.x.Person"),
            ["fullName: java.lang.String", "partner: com.x.Person"]
        );
        let level = types.get("com.x.Level").expect("described");
        assert_eq!(level.constants, ["JUNIOR", "VERY_SENIOR"]);
        assert!(types.get("boolean").is_none(), "it does not travel");
    }

    #[test]
    fn a_type_parameter_is_erased_as_in_java() {
        let mut types = Types::default();
        assert_eq!(Page::<i32>::describe(&mut types), "com.x.Page");
        let page = types.get("com.x.Page").expect("described");
        let object = Cow::Borrowed("java.lang.Object");
        assert_eq!(
            page.properties,
            [
                ("number".into(), "int".into()),
                ("items".into(), object.clone()),
                ("first".into(), object),
            ]
        );
    }

    #[test]
    fn names_of_classes_at_run_time_are_read() {
        let mut types = Types::default();
        for (name, want) in [
            ("com.x.Outer$Inner", "com.x.Outer.Inner"),
            ("[[Z", "boolean[][]"),
            ("[Ljava.lang.String;", "java.lang.String[]"),
            ("[", "[]"),
        ] {
            assert_eq!(types.named(name), want);
        }
        let array = types.get("boolean[][]").expect("described");
        assert_eq!(array.items, ["boolean[]"]);
    }
}
