//! Registry servers, by the scripts in `interop/registries`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    failure::Failure,
    interop::{build::Program, peer::Peer, ports},
    process,
};

use super::cell::{Level, Metadata, Registry};

/// A server with nothing stored. Dropping it stops it; it goes even when this process is killed.
#[derive(Debug)]
pub(crate) struct Server {
    registry: Registry,
    port: u16,
    data: PathBuf,
    /// The script, which serves until its input ends.
    script: Option<Peer>,
}

/// Installs the server unless it is there. Building one takes up to half an hour, once.
pub(crate) fn install(registry: Registry) -> Result<(), Failure> {
    process::run_within(
        process::program(script(registry)).arg("install"),
        INSTALL_LIMIT,
        "look at what it says above; it needs a package registry the first time",
    )
}

impl Server {
    /// Starts one with its files in `folder`, from which all else goes.
    pub(crate) fn start(registry: Registry, folder: &Path) -> Result<Self, Failure> {
        let data = folder.join("server");
        // What a run that was killed has left.
        run(script_with(registry, "stop").arg(&data))?;
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|e| {
                Failure::new(
                    format!("cannot remove {}: {e}", folder.display()),
                    "look at the rights of that folder",
                )
            })?;
        }
        let port = ports::free_with(distance(registry))?;
        let program = Program::from(script(registry));
        let args = [
            "serve".to_owned(),
            port.to_string(),
            data.display().to_string(),
        ];
        let script = Peer::start(&program, &args, folder.join("server.log"))?;
        script.await_notice(START_LIMIT, |notice| notice.event == "ready")?;
        Ok(Self {
            registry,
            port,
            data,
            script: Some(script),
        })
    }

    /// Where clients find it.
    pub(in crate::interop) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The flags that tell a peer to meet others here.
    pub(crate) fn meeting(
        &self,
        level: Level,
        metadata: Metadata,
        application: &str,
    ) -> Vec<String> {
        vec![
            format!("--registry={}", self.registry),
            format!("--registry-address={}", self.address()),
            format!("--registry-type={}", level.registry_type()),
            format!("--metadata-type={metadata}"),
            format!("--application={application}"),
        ]
    }

    /// Starts ZooKeeper's own command line with a command.
    pub(in crate::interop) fn zookeeper_cli(
        &self,
        command: &[&str],
        log: PathBuf,
    ) -> Result<Peer, Failure> {
        let args = ["cli".to_owned(), self.port.to_string()];
        let command = command.iter().map(|&word| word.to_owned());
        let args: Vec<_> = args.into_iter().chain(command).collect();
        Peer::start(&Program::from(script(self.registry)), &args, log)
    }

    /// What a shell runs to crash it and bring it back.
    pub(super) fn restart_command(&self) -> String {
        let script = script(self.registry).display().to_string();
        let data = self.data.display();
        format!(
            "'{script}' crash '{data}' && '{script}' start {} '{data}'",
            self.port
        )
    }

    /// Ends it as a power cut would.
    pub(crate) fn crash(&self) -> Result<(), Failure> {
        run(script_with(self.registry, "crash").arg(&self.data))
    }

    /// Brings it back, with what it had stored.
    pub(crate) fn come_back(&self) -> Result<(), Failure> {
        run(script_with(self.registry, "start")
            .arg(self.port.to_string())
            .arg(&self.data))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut script) = self.script.take() {
            script.end_input();
            // There is nobody to tell; the next run with these files tries again.
            let _ = script.finish(STOP_LIMIT);
        }
    }
}

fn run(command: &mut Command) -> Result<(), Failure> {
    process::output(command, "see the log beside the server's data").map(|_| ())
}

fn script_with(registry: Registry, action: &str) -> Command {
    let mut command = process::program(script(registry));
    command.arg(action);
    command
}

fn script(registry: Registry) -> PathBuf {
    process::root()
        .join("interop/registries")
        .join(registry.to_string())
}

/// How far above its port a server listens, too.
fn distance(registry: Registry) -> u16 {
    match registry {
        Registry::Nacos => 1000,
        Registry::Zookeeper => 0,
        Registry::Etcd => 1,
    }
}

const INSTALL_LIMIT: Duration = Duration::from_hours(1);
const START_LIMIT: Duration = Duration::from_secs(90);
/// The script kills a server that does not end.
const STOP_LIMIT: Duration = Duration::from_secs(15);
