//! The values: those of `HessianBench.java`.

use std::collections::HashMap;

use dubbo_hessian2::{FromHessian, Hessian, ToHessian};

use super::subject::{Measured, Subject};

/// All of them, by their names.
pub(crate) fn subjects() -> Vec<(&'static str, Box<dyn Measured>)> {
    vec![
        ("pojo", just(pojo(7))),
        ("nested", just(order())),
        ("list1000", just((0..1000).map(pojo).collect::<Vec<_>>())),
        ("string1m", just(text(MIXED))),
        ("string1m_ascii", just(text(ASCII))),
        ("map1000", just(numbers())),
    ]
}

fn just<T: ToHessian + FromHessian + PartialEq + 'static>(value: T) -> Box<dyn Measured> {
    Box::new(Subject {
        value,
        bytes: Vec::new(),
    })
}

// The fields are in the order in which hessian-lite writes them.

#[derive(PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.HessianBench$Pojo")]
struct Pojo {
    email: String,
    name: String,
    active: bool,
    score: f64,
    age: i32,
    id: i64,
}

#[derive(PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.HessianBench$Address")]
struct Address {
    city: String,
    street: String,
    zip: i32,
}

#[derive(PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.HessianBench$Person")]
struct Person {
    address: Option<Address>,
    name: String,
    age: i32,
}

#[derive(PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.HessianBench$Order")]
struct Order {
    lines: Vec<Pojo>,
    seller: Option<Person>,
    buyer: Option<Person>,
    note: String,
    paid: bool,
    amount: f64,
    id: i64,
}

fn pojo(index: i32) -> Pojo {
    let name = format!("user-{index}");
    Pojo {
        email: format!("{name}@example.com"),
        name,
        active: index % 2 == 0,
        score: f64::from(index) / 8.0,
        age: 18 + index % 60,
        id: 1_000_000 + i64::from(index),
    }
}

fn order() -> Order {
    let person = |age, name: &str, zip, street: &str, city: &str| Person {
        address: Some(Address {
            city: city.to_owned(),
            street: street.to_owned(),
            zip,
        }),
        name: name.to_owned(),
        age,
    };
    let berlin = person(36, "Ada Lovelace", 10115, "Invalidenstr. 1", "Berlin");
    let arlington = person(85, "Grace Hopper", 22201, "Wilson Blvd. 1", "Arlington");
    Order {
        lines: (0..3).map(pojo).collect(),
        seller: Some(arlington),
        buyer: Some(berlin),
        note: "leave it at the door, please".to_owned(),
        paid: true,
        amount: 1234.56,
        id: 4_200_000_000,
    }
}

fn numbers() -> HashMap<String, i32> {
    (0..1000).map(|i| (format!("key-{i}"), i * 7)).collect()
}

/// 1 MiB of UTF-8.
fn text(phrase: &str) -> String {
    phrase.repeat((1 << 20) / phrase.len())
}

/// Characters of one, three and four bytes of UTF-8: 7 of 72 are Chinese and one is an emoji.
const MIXED: &str =
    "The quick brown fox jumps over the lazy dog; 敏捷的棕色狐狸 🦊 does it again. ";
const ASCII: &str = "The quick brown fox jumps over the lazy dog. ";
