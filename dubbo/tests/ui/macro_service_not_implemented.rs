//! A type is served that implements no service.

use dubbo::{Status, service};

#[service(interface = "com.example.UserService")]
trait UserService {
    async fn add(&self, id: i64) -> Result<(), Status>;
    async fn find(&self, id: i64) -> Result<String, Status>;
}

struct Users;

fn main() {
    UserServiceServer::new(Users);
}
