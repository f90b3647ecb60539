use std::time::Duration;

use dubbo_test::soon;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    probe::Probe,
    rig::named,
    support::{HASTY, QOS, port, registered},
};

#[tokio::test]
async fn the_same_commands_are_answered_in_lines() {
    let probe = Probe::new();
    let instance = registered(&probe, &format!("{QOS}, {HASTY}"))
        .provide(named("x"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let mut terminal = TcpStream::connect(port(&instance)).await.expect("open");
    let script = "ls\r\nready\r\noffline\r\nls\r\nonline greet\\.Greeter r\r\ninvoke greet.Greeter.greet({\"name\": \"a b\"})\r\n\
                  getConfig application\r\nnonsense\r\nquit\r\n";
    terminal.write_all(script.as_bytes()).await.expect("room");
    let mut seen = String::new();
    soon("the end of it", terminal.read_to_string(&mut seen))
        .await
        .expect("text");
    let answers: Vec<_> = seen.split("dubbo>").collect();
    for (answer, want) in answers.iter().zip([
        "dubbo-rust-",
        "|greet.Greeter        |r-I(Y)|",
        "true\r\n",
        "OK\r\n",
        "|greet.Greeter        |r-I(N)|",
        "OK\r\n",
        "result: {\"greeting\":\"x\"}\r\n",
        "dubbo.application.name = shop (dubbo.yaml:1:",
        "there is no command `nonsense`",
        "BYE!\r\n",
    ]) {
        assert!(answer.contains(want), "{want:?} is not in {answer:?}");
    }
    assert_eq!(answers.len(), 10, "{seen}");
    assert_eq!(probe.providers().await.len(), 1);
    instance.shutdown(Duration::ZERO).await;
}
