//! What the tests share: a file that is rewritten, services, and calls that never stop.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{
    Instance, InstanceBuilder, Request, Response, Service, Status, Streaming,
    config::{Environment, LoadOptions},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

/// What is promised.
pub(crate) const LONGEST: Duration = Duration::from_secs(2);

/// A folder that is gone with this.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dubbo-reload-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("room");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The file of a configuration.
pub(crate) struct File {
    pub(crate) folder: Folder,
    path: PathBuf,
}

impl File {
    pub(crate) fn new(yaml: &str) -> Self {
        let folder = Folder::new();
        let path = folder.path("dubbo.yaml");
        let file = Self { folder, path };
        file.write(yaml);
        file
    }

    /// Writes it as editors do: beside it, and then in its place.
    pub(crate) fn write(&self, yaml: &str) {
        replace(&self.path, yaml);
    }

    /// Writes it in place.
    pub(crate) fn overwrite(&self, yaml: &str) {
        fs::write(&self.path, yaml).expect("room");
    }

    pub(crate) fn load(&self) -> InstanceBuilder {
        load(&self.path)
    }

    pub(crate) fn build(&self) -> Instance {
        self.load().build().expect("valid")
    }
}

pub(crate) fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("room");
    fs::rename(beside, path).expect("its folder is there");
}

/// An instance of this file, in an empty environment.
pub(crate) fn load(path: &Path) -> InstanceBuilder {
    let options = LoadOptions::path(path).environment(Environment::default());
    Instance::load_with(&options).expect("it can be read")
}

/// Starts a provider of `service` on a free port.
pub(crate) async fn provide(service: impl Into<Service>) -> Instance {
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
    let options = LoadOptions::text("provider.yaml", yaml).environment(Environment::default());
    let builder = Instance::load_with(&options).expect("it is YAML");
    let instance = builder.provide(service).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Where an instance with one service is.
pub(crate) fn url_of(instance: &Instance) -> String {
    let exported = instance.exported();
    let [url] = exported.as_slice() else {
        panic!("one service is exported: {exported:?}");
    };
    format!("{}://{}", url.protocol(), url.address())
}

pub(crate) async fn greet(greeter: &GreeterClient) -> Result<String, Status> {
    let request = GreetRequest {
        name: String::new(),
    };
    Ok(greeter.greet(request).await?.into_message().greeting)
}

/// Waits until `is_so`, which has to be soon enough to be called live.
pub(crate) async fn becomes<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let waited = timeout(LONGEST, async {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}, in time");
}

/// Waits until a call is answered with `want`.
pub(crate) async fn says(greeter: &GreeterClient, want: &str) {
    becomes(want, || async {
        greet(greeter).await.is_ok_and(|answer| answer == want)
    })
    .await;
}

/// What would have come into force in this time is not going to.
pub(crate) async fn wait_in_vain() {
    sleep(LONGEST).await;
}

/// Calls at 100 a second, whatever becomes of them.
pub(crate) struct Traffic {
    task: JoinHandle<(usize, Vec<Status>)>,
    ends: Arc<AtomicBool>,
}

impl Traffic {
    pub(crate) fn start(greeter: &GreeterClient) -> Self {
        let (greeter, ends) = (greeter.clone(), Arc::<AtomicBool>::default());
        let told = Arc::clone(&ends);
        let task = tokio::spawn(async move {
            let mut ticks = interval(Duration::from_millis(10));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let mut calls = tokio::task::JoinSet::new();
            while !told.load(Ordering::Relaxed) {
                ticks.tick().await;
                let greeter = greeter.clone();
                calls.spawn(async move { greet(&greeter).await });
            }
            let all = calls.join_all().await;
            let number = all.len();
            (number, all.into_iter().filter_map(Result::err).collect())
        });
        Self { task, ends }
    }

    /// No call has failed, and there were some.
    pub(crate) async fn was_all_well(self) {
        self.ends.store(true, Ordering::Relaxed);
        let (calls, failures) = self.task.await.expect("no panic");
        assert!(calls > 100, "{calls} calls");
        assert!(failures.is_empty(), "of {calls}: {failures:?}");
    }
}

/// Answers with the seconds that the caller will wait, rounded up.
pub(crate) fn remaining(request: &Request<GreetRequest>) -> String {
    let deadline = request.context().deadline();
    let left = deadline.map(|at| at.duration_since(Instant::now()).as_secs_f64());
    left.map_or_else(|| "for ever".to_owned(), |left| left.ceil().to_string())
}

/// A service that answers with what `answer` says.
pub(crate) fn answering<F>(answer: F) -> GreeterServer<Answering<F>>
where
    F: Fn(&Request<GreetRequest>) -> Result<String, Status> + Send + Sync + 'static,
{
    GreeterServer::new(Answering(answer))
}

/// A service that answers with its name.
pub(crate) fn named(name: &'static str) -> impl Into<Service> {
    answering(move |_| Ok(name.to_owned()))
}

pub(crate) struct Answering<F>(F);

impl<F> Greeter for Answering<F>
where
    F: Fn(&Request<GreetRequest>) -> Result<String, Status> + Send + Sync + 'static,
{
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let greeting = (self.0)(&request)?;
        Ok(Response::new(GreetResponse { greeting }))
    }

    async fn greet_many(
        &self,
        _: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_all(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_each(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }
}
