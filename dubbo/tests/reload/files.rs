//! How files change, and what becomes of those that are no configuration.

use std::{fs, os::unix::fs::symlink};

use dubbo_test::{logs::Logs, metrics::Numbers};
use examples::greet::GreeterClient;

use super::rig::{
    File, Folder, Traffic, answering, becomes, greet, load, provide, remaining, replace, says,
    url_of, wait_in_vain,
};

fn yaml(url: &str, timeout: &str) -> String {
    format!(
        "dubbo:\n  application: {{name: boss}}\n  consumer:\n    request-timeout: {timeout}\n    references: {{GreeterClient: {{url: '{url}'}}}}\n"
    )
}

#[tokio::test]
async fn a_file_may_be_replaced_written_in_place_and_half_written() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let file = File::new(&yaml(&url, "60s"));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let traffic = Traffic::start(&greeter);
    file.write(&yaml(&url, "50s"));
    says(&greeter, "50").await;
    file.overwrite(&yaml(&url, "40s"));
    says(&greeter, "40").await;
    let whole = yaml(&url, "30s");
    file.overwrite(&whole[..whole.len() - 12]);
    wait_in_vain().await;
    assert_eq!(
        greet(&greeter).await.expect("answers"),
        "40",
        "half a document is none"
    );
    file.overwrite(&whole);
    says(&greeter, "30").await;
    traffic.was_all_well().await;
}

#[tokio::test]
async fn a_config_map_of_kubernetes_changes_with_the_link_that_it_is_reached_by() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let folder = Folder::new();
    // Kubernetes: dubbo.yaml -> ..data/dubbo.yaml, ..data -> ..2026_1, and then ..data is replaced.
    for (name, timeout) in [("..2026_1", "60s"), ("..2026_2", "50s")] {
        fs::create_dir(folder.path(name)).expect("room");
        fs::write(folder.path(name).join("dubbo.yaml"), yaml(&url, timeout)).expect("room");
    }
    symlink("..2026_1", folder.path("..data")).expect("links work");
    symlink("..data/dubbo.yaml", folder.path("dubbo.yaml")).expect("links work");
    let instance = load(&folder.path("dubbo.yaml")).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let traffic = Traffic::start(&greeter);
    says(&greeter, "60").await;
    symlink("..2026_2", folder.path("..data_tmp")).expect("links work");
    fs::rename(folder.path("..data_tmp"), folder.path("..data")).expect("it is there");
    fs::remove_dir_all(folder.path("..2026_1")).expect("it is there");
    says(&greeter, "50").await;
    traffic.was_all_well().await;
}

#[tokio::test]
async fn the_file_of_the_profile_counts_too_and_may_come_later() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let with_profile = |name: &str| {
        yaml(&url, "60s").replace(
            "dubbo:\n",
            &format!("dubbo:\n  profiles: {{active: {name}}}\n"),
        )
    };
    let file = File::new(&with_profile("prod"));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let profile = |timeout: &str| format!("dubbo: {{consumer: {{request-timeout: {timeout}}}}}");
    replace(&file.folder.path("dubbo-prod.yaml"), &profile("50s"));
    says(&greeter, "50").await;
    replace(&file.folder.path("dubbo-prod.yaml"), &profile("40s"));
    says(&greeter, "40").await;
    replace(&file.folder.path("dubbo-test.yaml"), &profile("30s"));
    file.write(&with_profile("test"));
    says(&greeter, "30").await;
    replace(&file.folder.path("dubbo-test.yaml"), &profile("20s"));
    says(&greeter, "20").await;
}

#[tokio::test]
async fn what_is_no_configuration_changes_nothing_and_is_told_of_with_its_place() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let file = File::new(&yaml(&url, "60s"));
    let (logs, _logging) = Logs::record();
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let traffic = Traffic::start(&greeter);
    let good = yaml(&url, "50s");
    let invalid = || {
        numbers
            .get("dubbo_config_reloads_total{result=invalid}")
            .to_string()
    };
    let mut seen = 0;
    for (bad, why) in [
        (
            format!("{good}  nobody: knows\n"),
            "dubbo.yaml:6:3: dubbo.nobody: unknown key",
        ),
        (
            good.replace("50s", "soon"),
            "dubbo.consumer.request-timeout: expected a duration",
        ),
        (format!("{good}]"), "dubbo.yaml:6:1"),
        (
            good.replace("url: ", "cluster: failovr, url: "),
            "no cluster is called `failovr`",
        ),
    ] {
        file.write(&bad);
        seen += 1;
        becomes(why, || async { invalid() == seen.to_string() }).await;
        let told = logs.with("what was in force before stays");
        assert!(
            told.last().is_some_and(|line| line.contains(why)),
            "{why}: {told:?}"
        );
        assert_eq!(greet(&greeter).await.expect("answers"), "60");
    }
    wait_in_vain().await;
    assert_eq!(invalid(), seen.to_string(), "each is told of once");
    file.write(&good);
    says(&greeter, "50").await;
    traffic.was_all_well().await;
}

#[tokio::test]
async fn what_takes_a_restart_is_named_once_and_the_rest_is_applied() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let file = File::new(&yaml(&url, "60s"));
    let (logs, _logging) = Logs::record();
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let other = yaml(&url, "50s").replace("boss", "chief");
    file.write(&other);
    says(&greeter, "50").await;
    file.write(&other.replace("50s", "40s"));
    says(&greeter, "40").await;
    let refused = logs.with("takes a restart");
    let [line] = &refused[..] else {
        panic!("one line: {refused:?}");
    };
    for part in [
        "WARN",
        "dubbo.application.name: boss -> chief",
        "dubbo.yaml:2:23",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let applied = logs.with("dubbo.consumer.request-timeout: 60s -> 50s");
    assert!(
        applied.len() == 1 && applied[0].starts_with("INFO"),
        "{applied:?}"
    );
    for (result, want) in [("applied", 2.0), ("refused", 1.0), ("invalid", 0.0)] {
        let name = format!("dubbo_config_reloads_total{{result={result}}}");
        assert_eq!(numbers.get(&name).to_bits(), f64::to_bits(want), "{result}");
    }
    file.write(&yaml(&url, "40s"));
    becomes("the old value again", || async {
        logs.with("says again what is in force").len() == 1
    })
    .await;
}

#[tokio::test]
async fn two_instances_of_a_process_have_a_file_each() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let (one, two) = (File::new(&yaml(&url, "60s")), File::new(&yaml(&url, "50s")));
    let (first, second) = (one.build(), two.build());
    let first: GreeterClient = first.refer().await.map(|it| (it, first)).expect("refers").0;
    let kept = second;
    let second: GreeterClient = kept.refer().await.expect("refers");
    two.write(&yaml(&url, "40s"));
    says(&second, "40").await;
    assert_eq!(greet(&first).await.expect("answers"), "60");
}
