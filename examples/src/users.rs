//! A service without an IDL: what a Java interface `com.example.UserService` would be.
//!
//! ```java
//! public interface UserService {
//!     User getUser(String id) throws NoSuchUserException;
//!     List<User> getUsers(List<String> ids);
//!     String rename(User user, String name);
//! }
//! ```

use dubbo::{
    Hessian, Status,
    java::{exception_with, thrown_as},
};

/// The bean `com.example.User`.
#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "com.example.User")]
pub struct User {
    /// Who it is.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// The age in years.
    pub age: i32,
    /// What it may do.
    pub level: Level,
    /// A friend, or `null`.
    pub friend: Option<Box<Self>>,
}

/// The enum `com.example.Level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hessian)]
#[hessian(class = "com.example.Level")]
pub enum Level {
    /// `MEMBER`
    Member,
    /// `ADMIN`
    Admin,
}

/// The checked exception `com.example.NoSuchUserException`.
#[derive(Debug, Clone, PartialEq, Eq, Hessian)]
#[hessian(class = "com.example.NoSuchUserException")]
pub struct NoSuchUser {
    /// Who was asked for.
    pub id: String,
}

/// Knows users.
#[dubbo::service(interface = "com.example.UserService", version = "1.0.0")]
pub trait UserService {
    /// The user called `id`.
    async fn get_user(&self, id: String) -> Result<User, Status>;

    /// The users of these ids.
    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status>;

    /// What `user` would be called.
    async fn rename(&self, user: User, name: String) -> Result<String, Status>;
}

/// Knows two users.
#[derive(Debug)]
pub struct Users;

impl UserService for Users {
    async fn get_user(&self, id: String) -> Result<User, Status> {
        let (name, age, level) = match id.as_str() {
            "ada" => ("Ada", 36, Level::Admin),
            "grace" => ("Grace", 85, Level::Member),
            _ => return Err(exception_with(&format!("no user {id}"), &NoSuchUser { id })),
        };
        let name = name.to_owned();
        let friend = None;
        Ok(User {
            id,
            name,
            age,
            level,
            friend,
        })
    }

    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status> {
        let mut users = Vec::with_capacity(ids.len());
        for id in ids {
            users.push(self.get_user(id).await?);
        }
        Ok(users)
    }

    async fn rename(&self, user: User, name: String) -> Result<String, Status> {
        Ok(format!("{} is now {name}", user.name))
    }
}

/// What a caller makes of an exception of Java: it is ours if its class is, and then its fields tell.
pub fn who_is_missing(status: &Status) -> Option<String> {
    thrown_as::<NoSuchUser>(status).map(|missing| missing.id)
}
