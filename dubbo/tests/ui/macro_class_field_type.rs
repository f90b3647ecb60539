//! A field has a type that no Java type stands for.

use std::time::Instant;

use dubbo::Hessian;

#[derive(Hessian)]
#[hessian(class = "com.example.User")]
struct User {
    name: String,
    since: Instant,
}

fn main() {}
