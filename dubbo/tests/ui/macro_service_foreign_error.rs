//! A method fails with something else than a status.

use dubbo::{Status, service};

#[service(interface = "com.example.UserService")]
trait UserService {
    async fn add(&self, id: i64) -> Result<(), String>;
    async fn find(&self, id: i64) -> Result<String, Status>;
}

fn main() {}
