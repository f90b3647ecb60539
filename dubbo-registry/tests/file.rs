//! Two programs find each other in a directory, and one that is killed is gone.

use std::{
    env,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use dubbo_core::{extension::Extensions, registry::Registry, url::Url};
use dubbo_registry as _;

#[tokio::test]
async fn a_program_that_is_killed_is_gone_and_one_that_is_there_is_found() {
    let directory = env::temp_dir().join(format!("dubbo-file-{}", std::process::id()));
    let registry = registry(&directory.to_string_lossy());
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
    for _ in 0..2 {
        let mut program = Other(start(&directory.to_string_lossy()));
        for want in [1, 0] {
            dubbo_test::soon(&format!("{want} providers"), async {
                loop {
                    let state = subscription.current().state.expect("no error");
                    if state.providers.len() == want {
                        return;
                    }
                    subscription.changed().await.expect("goes on");
                }
            })
            .await;
            if want == 1 {
                program.0.kill().expect("killed");
            }
        }
    }
    registry.close().await;
    std::fs::remove_dir_all(&directory).expect("removed");
}

/// The other program: this one, started again for this alone.
#[tokio::test]
#[ignore = "is started by the test above"]
async fn other_program() {
    let directory = env::var(DIRECTORY).expect("the directory");
    let registry = registry(&directory);
    let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    std::future::pending::<()>().await;
}

struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(directory: &str) -> Child {
    Command::new(env::current_exe().expect("a path"))
        .args(["--exact", "other_program", "--ignored"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .spawn()
        .expect("starts")
}

fn registry(directory: &str) -> Arc<dyn Registry> {
    let extensions = Extensions::linked().expect("linked");
    let url = Url::new("file", directory);
    extensions
        .create::<dyn Registry>("file", &url)
        .expect("made")
}

const DIRECTORY: &str = "DUBBO_TEST_DIRECTORY";
