//! Mutual TLS from YAML: a provider and a consumer show certificates to each other, and the provider's is replaced by one of
//! another authority while calls run.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use dubbo::{
    Instance, InstanceBuilder,
    config::{LoadOptions, ReferenceConfig},
};
use examples::{
    Polite,
    answering::from,
    greet::{GreeterClient, GreeterServer},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let ours = Folder::new("provider")?;
    ours.put("ca.pem", &["old-ca.pem", "new-ca.pem"])?;
    ours.show("old")?;
    let provider = program(&ours)?
        .provide(GreeterServer::new(Polite))
        .build()?;
    provider.start().await?;
    let url = &provider.exported()[0];
    println!("ssl-enabled: {:?}", url.param("ssl-enabled"));
    let url = format!("tri://{}", url.address());

    let theirs = Folder::new("consumer")?;
    theirs.put("ca.pem", &["old-ca.pem"])?;
    theirs.show("old")?;
    let consumer = program(&theirs)?.build()?;
    let options = || ReferenceConfig::new().url([url.clone()]).check(false);
    let greeter: GreeterClient = consumer.refer_with(options()).await?;
    let answer = greeter.greet(from("Ada")).await?;
    println!("{}", answer.into_message().greeting);

    let plain = Instance::builder().application("plain").build()?;
    let plain: GreeterClient = plain.refer_with(options()).await?;
    let refused = plain.greet(from("nobody")).await.err();
    println!("without TLS: {:?}", refused.map(|status| status.code()));

    // It trusts the new authority alone, so it cannot call the provider yet.
    let next = Folder::new("newcomer")?;
    next.put("ca.pem", &["new-ca.pem"])?;
    next.show("new")?;
    let newcomer = program(&next)?.build()?;
    let newcomer: GreeterClient = newcomer.refer_with(options()).await?;
    let refused = newcomer.greet(from("newcomer")).await.err();
    println!("too early: {:?}", refused.map(|status| status.code()));

    ours.show("new")?;
    let mut calls = 0;
    loop {
        // Its connection goes on.
        greeter.greet(from("Ada")).await?;
        calls += 1;
        if let Ok(answer) = newcomer.greet(from("newcomer")).await {
            println!("{}", answer.into_message().greeting);
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("{calls} calls meanwhile, and none of them failed");
    Ok(())
}

/// A program with the files in `folder`.
fn program(folder: &Folder) -> Result<InstanceBuilder, Box<dyn Error>> {
    let folder = folder.0.display().to_string();
    let options = LoadOptions::path(concat!(env!("CARGO_MANIFEST_DIR"), "/tls.yaml"))
        .environment([("TLS_FOLDER", &*folder)].into_iter().collect());
    Ok(Instance::load_with(&options)?)
}

/// Where one program has its files. It is deleted in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> io::Result<Self> {
        let name = format!("dubbo-example-tls-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// Shows another certificate from now on.
    fn show(&self, name: &str) -> io::Result<()> {
        self.put("own.pem", &[&format!("{name}.pem")])?;
        self.put("own.key", &[&format!("{name}.key")])
    }

    /// Replaces a file by what is in others. Whoever looks at it sees the old one or the new one, and nothing in between.
    fn put(&self, file: &str, sources: &[&str]) -> io::Result<()> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tls");
        let mut text = String::new();
        for name in sources {
            text += &fs::read_to_string(source.join(name))?;
        }
        let beside = self.0.join("new");
        fs::write(&beside, text)?;
        fs::rename(beside, self.0.join(file))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the folder for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
