//! What cannot be a service.

use dubbo::{CallContext, Status, Streaming, service};

#[service(version = "1.0.0")]
trait Nameless {}

#[service(interfac = "com.example.Misspelled")]
trait Misspelled {}

#[service(interface = "com.example.Implemented")]
struct Implemented;

#[service(interface = "com.example.Generic")]
trait Generic<T> {}

#[service(interface = "com.example.Methods")]
trait Methods {
    fn waits(&self) -> Result<(), Status>;
    async fn consumes(self) -> Result<(), Status>;
    async fn changes(&mut self) -> Result<(), Status>;
    async fn chooses<T>(&self, value: T) -> Result<(), Status>;
    async fn does(&self) -> Result<(), Status> {
        Ok(())
    }
    async fn never_fails(&self) -> String;
    async fn destructures(&self, (a, b): (i32, i32)) -> Result<(), Status>;
    async fn borrows(&self, name: &str) -> Result<(), Status>;
    async fn called(&self, name: String, context: CallContext) -> Result<(), Status>;
    async fn mixes(&self, name: String, users: Streaming<i32>) -> Result<(), Status>;
}

#[service(interface = "com.example.Options")]
trait Options {
    #[dubbo(nmae = "a")]
    async fn a(&self) -> Result<(), Status>;
    #[dubbo(types = ["int"])]
    async fn b(&self) -> Result<(), Status>;
    #[dubbo(types = ["java.util.List<String>"])]
    async fn c(&self, names: Vec<String>) -> Result<(), Status>;
    #[dubbo(oneway)]
    async fn d(&self) -> Result<String, Status>;
    async fn get_user(&self, id: String) -> Result<String, Status>;
    #[dubbo(name = "getUser")]
    async fn find_user(&self, name: String) -> Result<String, Status>;
}

fn main() {}
