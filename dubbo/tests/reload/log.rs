//! The log of the process, which is one: so one test has it.

use std::fs;

use tracing::{debug, info};

use super::rig::{File, becomes};

#[tokio::test]
async fn config_a19_a_level_that_is_rewritten_counts_at_once_and_a_name_is_refused_unless_it_is_allowed()
 {
    let folder = super::rig::Folder::new();
    let log = folder.path("app.log");
    let yaml = |name: &str, logger: &str| {
        format!(
            "dubbo:\n  application: {{name: {name}}}\n  logger: {{appender: file, file: {{name: '{}'}}, {logger}}}\n",
            log.display()
        )
    };
    let file = File::new(&yaml("one", "level: info"));
    let instance = file.build();
    instance.start().await.expect("starts");
    let logged = |part: &str| fs::read_to_string(&log).is_ok_and(|text| text.contains(part));
    info!("at first");
    debug!("too early");
    becomes("the log", || async { logged("at first") }).await;
    file.write(&yaml("one", "level: debug"));
    becomes("the level", || async {
        debug!("of interest");
        logged("of interest")
    })
    .await;
    assert!(!logged("too early"));
    assert!(logged("dubbo.logger.level: info -> debug"));

    file.write(&yaml("two", "level: debug"));
    becomes("the refusal", || async {
        logged("dubbo.application.name: one -> two") && logged("it takes a restart")
    })
    .await;
    assert!(format!("{instance:?}").contains("one"), "{instance:?}");

    let second = file
        .load()
        .allow_hot_reload_prefix("dubbo.application.")
        .build()
        .expect("valid");
    second.start().await.expect("starts");
    file.write(&yaml("three", "level: debug, format: json"));
    becomes("the program sees to it", || async {
        logged("the program sees to it: dubbo.application.name: two -> three")
    })
    .await;
    becomes("the form", || async {
        info!(n = 7, "as an object");
        logged(r#""msg":"as an object""#)
    })
    .await;

    assert_eq!(
        dubbo::logging::level(),
        Some(dubbo::config::LogLevel::Debug)
    );
    dubbo::logging::set_level(dubbo::config::LogLevel::Error).expect("it is ours");
    info!("not any more");
    file.write(&yaml("three", "level: info, format: json"));
    becomes("the level again", || async {
        info!("once more");
        logged("once more")
    })
    .await;
    assert!(!logged("not any more"));

    let impossible = folder.path("app.log/app.log");
    let elsewhere = yaml("three", "level: info, format: json").replace(
        &log.display().to_string(),
        &impossible.display().to_string(),
    );
    file.write(&elsewhere);
    becomes("a file that cannot be opened is refused", || async {
        logged("dubbo.logger.file.name") && logged("cannot open the log file")
    })
    .await;
}
