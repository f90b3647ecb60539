//! An implementation leaves a method out, has another type, or stays on its thread.

use std::{future, rc::Rc};

use dubbo::{Status, service};

#[service(interface = "com.example.UserService")]
trait UserService {
    async fn add(&self, id: i64) -> Result<(), Status>;
    async fn find(&self, id: i64) -> Result<String, Status>;
}

struct Lazy;

impl UserService for Lazy {
    async fn add(&self, _: i64) -> Result<(), Status> {
        Ok(())
    }
}

struct Local;

impl UserService for Local {
    async fn add(&self, id: i64) -> Result<(), Status> {
        let id = Rc::new(id);
        future::ready(()).await;
        drop(id);
        Ok(())
    }

    async fn find(&self, id: i64) -> Result<i64, Status> {
        Ok(id)
    }
}

fn main() {}
