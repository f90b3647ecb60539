//! The access log (`docs/spec/config.md` §5.4).

use std::{fs, path::PathBuf};

use dubbo::Status;
use examples::greet::GreeterServer;

use super::rig::{Answering, consume, greet, provide, url_of};

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dubbo-observe-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    let _ = fs::remove_file(&file);
    file
}

/// The lines of `file` once `count` are there.
async fn lines(file: &PathBuf, count: usize) -> Vec<String> {
    let written = async {
        loop {
            let text = fs::read_to_string(file).unwrap_or_default();
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            if lines.len() >= count {
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    dubbo_test::soon("the lines of an access log", written).await
}

#[tokio::test]
async fn config_a13_a_file_has_a_line_for_each_request_with_addresses_interface_and_method() {
    let file = file("access.log");
    let options = format!(
        "provider: {{services: {{Answering: {{interface: greet.Greeter, group: g, version: 1.0.0, accesslog: '{}', \
         params: {{accesslog.allow-file: 'true'}}}}}}}}",
        file.display()
    );
    let service = Answering(|request: &dubbo::Request<examples::greet::GreetRequest>| {
        match &*request.message().name {
            "" => Err(Status::invalid_argument("a name is needed")),
            name => Ok(name.to_owned()),
        }
    });
    let provider = provide(&options, GreeterServer::new(service)).await;
    let address = provider.exported()[0].address();
    let of_service = "group: g, version: 1.0.0, retries: 0";
    let (_consumer, greeter) = consume(&url_of(&provider), "", of_service).await;
    greet(&greeter, "you").await.expect("greets");
    greet(&greeter, "").await.expect_err("refuses");
    let lines = lines(&file, 2).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, outcome) in lines.iter().zip([" ok ", " invalid_argument "]) {
        let (time, rest) = line.split_once("] ").expect("a time");
        assert_eq!(time.len(), "[2024-02-29 23:59:59".len(), "{line}");
        assert!(rest.starts_with("127.0.0.1:"), "the caller: {line}");
        let what = format!(" -> {address} - g/greet.Greeter:1.0.0 Greet()");
        assert!(rest.contains(&what), "{line}");
        assert!(rest.contains(outcome) && rest.ends_with(" ms"), "{line}");
    }
}
