//! A parameter has a type that is no class.

use dubbo::{Status, service};

#[derive(Debug)]
struct User {
    id: i64,
}

#[service(interface = "com.example.UserService")]
trait UserService {
    async fn add(&self, user: User) -> Result<(), Status>;
}

fn main() {}
