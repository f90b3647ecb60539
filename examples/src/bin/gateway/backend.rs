//! The services behind the gateway: two providers of one interface, which know a user that nobody finds until they are
//! mended.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dubbo::{Instance, Status, config::ProtocolConfig};
use examples::users::{User, UserService, UserServiceServer, Users};

/// The providers.
pub(crate) struct Backend {
    /// Where they are.
    pub(crate) urls: Vec<String>,
    mended: Arc<AtomicBool>,
    _providers: Vec<Instance>,
}

impl Backend {
    /// From now on they find everybody.
    pub(crate) fn mend(&self) {
        self.mended.store(true, Ordering::Relaxed);
    }
}

/// Starts them.
pub(crate) async fn start() -> Result<Backend, Box<dyn Error>> {
    let mended = Arc::new(AtomicBool::new(false));
    let (mut urls, mut providers) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let users = Broken(Arc::clone(&mended));
        let provider = Instance::builder()
            .application("users")
            .protocol(
                "dubbo",
                ProtocolConfig::new().name("dubbo").ip("127.0.0.1").port(0),
            )
            .provide(UserServiceServer::new(users))
            .build()?;
        provider.start().await?;
        urls.push(format!("dubbo://{}", provider.exported()[0].address()));
        providers.push(provider);
    }
    Ok(Backend {
        urls,
        mended,
        _providers: providers,
    })
}

struct Broken(Arc<AtomicBool>);

impl UserService for Broken {
    async fn get_user(&self, id: String) -> Result<User, Status> {
        if id != "lost" {
            return Users.get_user(id).await;
        }
        if !self.0.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the archive is closed"));
        }
        let found = Users.get_user("ada".to_owned()).await?;
        Ok(User { id, ..found })
    }

    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status> {
        Users.get_users(ids).await
    }

    async fn rename(&self, user: User, name: String) -> Result<String, Status> {
        Users.rename(user, name).await
    }
}
