//! The classes of the contract.

use std::collections::{BTreeMap, BTreeSet};

use dubbo::{
    Hessian,
    hessian2::{Shared, Value, java::Date},
};

/// The main bean.
#[derive(Clone, Debug, Default, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.User")]
#[expect(
    missing_docs,
    reason = "Java's class has no more to say about its fields"
)]
pub struct User {
    pub id: Option<String>,
    pub name: Option<String>,
    pub age: i32,
    pub score: i64,
    pub rate: f64,
    pub active: bool,
    pub birth: Option<Date>,
    pub gender: Option<Gender>,
    pub tags: Option<Vec<String>>,
    pub attrs: Option<BTreeMap<String, Value>>,
    /// Maybe the user itself.
    pub friend: Option<Shared<Self>>,
    pub photo: Option<Vec<u8>>,
}

impl User {
    /// The user that every provider has for an id.
    pub fn sample(id: &str) -> Self {
        Self {
            id: Some(id.to_owned()),
            name: Some(format!("user-{id}")),
            age: 20,
            score: 1 << 40,
            rate: 0.5,
            active: true,
            birth: Some(Date::from_millis(1_500_000_000_123)),
            gender: Some(Gender::Female),
            tags: Some(vec!["a".to_owned(), "b".to_owned()]),
            attrs: Some([("k".to_owned(), "v".into()), ("n".to_owned(), 7.into())].into()),
            friend: None,
            photo: Some(vec![0x00, 0x01, 0xfe, 0xff]),
        }
    }
}

/// An enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Gender")]
pub enum Gender {
    Unknown,
    Male,
    Female,
}

impl Gender {
    /// The constant's name in Java.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Male => "MALE",
            Self::Female => "FEMALE",
        }
    }
}

/// A bean inside a [`Bag`].
#[derive(Clone, Debug, PartialEq, Eq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Address")]
#[expect(
    missing_docs,
    reason = "Java's class has no more to say about its fields"
)]
pub struct Address {
    pub city: String,
    pub zip: i32,
}

/// A bean of collections.
#[derive(Clone, Debug, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Bag")]
#[expect(
    missing_docs,
    reason = "Java's class has no more to say about its fields"
)]
pub struct Bag {
    pub items: Vec<Value>,
    /// Its keys are of several types.
    pub map: Value,
    pub address: Option<Address>,
    pub set: BTreeSet<String>,
}

/// A node of a graph in which parents and children know each other.
#[derive(Clone, Debug, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Node")]
#[expect(
    missing_docs,
    reason = "Java's class has no more to say about its fields"
)]
pub struct Node {
    pub name: String,
    pub parent: Option<Shared<Self>>,
    pub children: Option<Vec<Shared<Self>>>,
}

/// A class with a field of the same name as one that it inherits, which Java does not send apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Child")]
pub struct Child {
    pub id: i32,
    pub name: Option<String>,
    pub extra: i64,
}

/// `Result<T>` of Java, where the type of the data is erased.
#[derive(Clone, Debug, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Result")]
#[expect(
    missing_docs,
    reason = "Java's class has no more to say about its fields"
)]
pub struct Outcome<T> {
    pub code: i32,
    pub message: Option<String>,
    pub data: Option<T>,
}
