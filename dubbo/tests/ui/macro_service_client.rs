//! A client is called with a value of another type.

use dubbo::{Status, service};

#[service(interface = "com.example.UserService")]
trait UserService {
    async fn find(&self, id: i64) -> Result<String, Status>;
}

async fn call(users: UserServiceClient) {
    let _ = users.find("1").await;
}

fn main() {
    let _ = call;
}
