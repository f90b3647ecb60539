//! Streams without protobuf.

use dubbo::{Status, Streaming, hessian2::java::Throwable, java, service};
use futures_util::{StreamExt as _, stream};

use super::User;

/// The methods are described in `UserStreamService.java`.
#[service(interface = "org.apache.dubbo.interop.UserStreamService")]
pub trait UserStreamService {
    async fn server_stream(&self, prefix: String) -> Result<Streaming<User>, Status>;
    async fn bi_stream(&self, users: Streaming<User>) -> Result<Streaming<User>, Status>;
}

/// Implements the service.
#[derive(Debug)]
pub struct UserStreams;

impl UserStreamService for UserStreams {
    async fn server_stream(&self, prefix: String) -> Result<Streaming<User>, Status> {
        let user = |n: usize| Ok(User::sample(&format!("{prefix}-{n}")));
        let items: Vec<_> = if prefix == "fail" {
            let thrown =
                Throwable::new("java.lang.IllegalStateException", "stream failed as asked");
            vec![user(0), Err(java::exception(thrown))]
        } else {
            (0..3).map(user).collect()
        };
        Ok(Streaming::new(stream::iter(items)))
    }

    async fn bi_stream(&self, users: Streaming<User>) -> Result<Streaming<User>, Status> {
        Ok(Streaming::new(users.map(|user| {
            let mut user = user?;
            user.name = user.name.map(|name| format!("re:{name}"));
            Ok(user)
        })))
    }
}
