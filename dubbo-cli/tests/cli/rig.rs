//! What the tests share: the program, and providers to call.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
};

use dubbo::{
    Instance, InstanceBuilder, Request, Response, Status, Streaming,
    config::{ProtocolConfig, RegistryConfig, RegistryType, ServiceConfig},
};
use examples::{
    Polite,
    greet::{GreetRequest, GreetResponse, Greeter, GreeterServer},
    users::{UserServiceServer, Users},
};
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command};

/// What the program printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Checks the exit code; the output for the next check.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs the program with these words.
pub(crate) async fn dubbo(words: &[&str]) -> Run {
    dubbo_reading("", words).await
}

/// Runs the program with all of these words.
pub(crate) async fn dubbo_of(words: &[&[&str]]) -> Run {
    dubbo(&words.concat()).await
}

/// Runs the program with these words, and this on its standard input.
pub(crate) async fn dubbo_reading(input: &str, words: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dubbo"));
    let ours = std::env::vars().filter(|(name, _)| name.starts_with("DUBBO_"));
    for (name, _) in ours {
        command.env_remove(name);
    }
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("is piped");
    // Who does not read its input may have gone.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = ended.expect("it ends").expect("it can be waited for");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    Run {
        code: output.status.code().expect("it ends by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A folder of its own for each call.
pub(crate) fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("cli-{}-{number}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

/// A file with this content, in a folder of its own.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder().join(name);
    std::fs::write(&path, content).expect("it can be written");
    path.to_str().expect("is text").to_owned()
}

/// A provider of a greeter and of Java's users, over Triple and the classic protocol.
pub(crate) struct Provider {
    /// It ends with this.
    _instance: Instance,
    pub(crate) triple: String,
    pub(crate) classic: String,
}

impl Provider {
    /// One that is registered nowhere.
    pub(crate) async fn start() -> Self {
        Self::started(Self::builder("greeter-provider")).await
    }

    /// One that is registered in a folder; its registry.
    pub(crate) async fn registered() -> (Self, String) {
        let registry = format!("file://{}", folder().display());
        let kind = RegistryType::All;
        let config = RegistryConfig::at(registry.clone()).registry_type(kind);
        let builder = Self::builder("greeter-provider").registry("local", config);
        (Self::started(builder).await, registry)
    }

    pub(crate) fn builder(application: &str) -> InstanceBuilder {
        let on = |name: &str| ProtocolConfig::new().name(name).ip("127.0.0.1").port(0);
        Instance::builder()
            .application(application)
            .protocol("triple", on("tri"))
            .protocol("classic", on("dubbo"))
            // A service of a proto file has no hessian form.
            .provide_with(
                GreeterServer::new(Moody),
                ServiceConfig::new().protocol_ids(["triple"]),
            )
            .provide(UserServiceServer::new(Users))
    }

    /// One that is built elsewhere; where it speaks Triple.
    pub(crate) async fn triple_of(builder: InstanceBuilder) -> (Instance, String) {
        let instance = builder.build().expect("valid");
        instance.start().await.expect("starts");
        let triple = instance.exported()[0].origin();
        (instance, triple)
    }

    pub(crate) async fn started(builder: InstanceBuilder) -> Self {
        let instance = builder.build().expect("valid");
        instance.start().await.expect("starts");
        let at = |protocol: &str| {
            let exported = instance.exported();
            let mut exported = exported.iter();
            let url = exported.find(|url| url.protocol() == protocol);
            url.expect("is exported").origin()
        };
        Self {
            triple: at("tri"),
            classic: at("dubbo"),
            _instance: instance,
        }
    }
}

/// Greets everyone, but for a few.
struct Moody;

impl Greeter for Moody {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let tenant = request.attachments().get("tenant").map(str::to_owned);
        match &*request.message().name {
            "business" => Err(Status::business("not on a Monday")),
            "forbidden" => Err(Status::permission_denied("not you")),
            "slow" => std::future::pending().await,
            "tenant" => {
                let greeting = format!("for {}", tenant.as_deref().unwrap_or("nobody"));
                Ok(Response::new(GreetResponse { greeting }).trailer("served-by", "moody"))
            }
            _ => Polite.greet(request).await,
        }
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Polite.greet_many(request).await
    }

    async fn greet_all(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Polite.greet_all(request).await
    }

    async fn greet_each(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Polite.greet_each(request).await
    }
}

/// An address at which nobody is.
pub(crate) async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let address = listener.and_then(|listener| listener.local_addr());
    format!("tri://{}", address.expect("a free port"))
}

/// How long the program may take, on a machine that is busy.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);
