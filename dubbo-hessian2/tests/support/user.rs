//! The class that both peers' services are about.

use std::collections::BTreeMap;

use dubbo_hessian2::{Hessian, Value, java::Date};

#[derive(Clone, Debug, Default, Hessian, PartialEq)]
#[hessian(class = "org.apache.dubbo.interop.User")]
pub struct User {
    pub photo: Option<Vec<u8>>,
    pub friend: Option<Box<Self>>,
    pub attrs: Option<BTreeMap<String, Value>>,
    pub tags: Option<Vec<String>>,
    pub gender: Option<Gender>,
    pub birth: Option<Date>,
    pub active: bool,
    pub rate: f64,
    pub score: i64,
    pub age: i32,
    pub name: Option<String>,
    pub id: Option<String>,
}

impl User {
    /// What Java's `User.sample` makes.
    pub fn sample(id: &str) -> Self {
        Self {
            photo: Some(vec![0, 1, 254, 255]),
            friend: None,
            attrs: Some([("k".to_owned(), "v".into()), ("n".to_owned(), 7.into())].into()),
            tags: Some(vec!["a".into(), "b".into()]),
            gender: Some(Gender::Female),
            birth: Some(Date::from_millis(1_500_000_000_123)),
            active: true,
            rate: 0.5,
            score: 1 << 40,
            age: 20,
            name: Some(format!("user-{id}")),
            id: Some(id.to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug, Hessian, PartialEq)]
#[hessian(class = "org.apache.dubbo.interop.Gender")]
pub enum Gender {
    Male,
    Female,
}
