use std::{net::SocketAddr, time::Duration};

use dubbo_core::invocation::Peer;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    time::Instant,
};

use super::Echo;
use crate::qos::{Listener, Routes, telnet::serve};

/// A terminal of which nothing is left unread.
struct Terminal(DuplexStream);

impl Terminal {
    /// From `port` of its machine.
    fn from(port: u16) -> Self {
        let (near, far) = tokio::io::duplex(1 << 12);
        let remote = SocketAddr::from(([127, 0, 0, 1], port));
        tokio::spawn(async move { serve(far, &Peer::new(remote, remote), &Echo).await });
        Self(near)
    }

    async fn types(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("room");
    }

    /// What has come when nothing more comes.
    async fn sees(&mut self) -> String {
        let mut seen = Vec::new();
        let mut byte = [0];
        let moment = Duration::from_millis(1);
        while let Ok(Ok(1)) = tokio::time::timeout(moment, self.0.read(&mut byte)).await {
            seen.push(byte[0]);
        }
        seen.escape_ascii().to_string()
    }

    async fn is_hung_up_on(&mut self) -> bool {
        matches!(self.0.read(&mut [0]).await, Ok(0))
    }
}

#[tokio::test(start_paused = true)]
async fn lines_are_answered_one_after_another() {
    let mut terminal = Terminal::from(2);
    assert_eq!(terminal.sees().await, r"hello\r\nthere\r\ndubbo>");
    for (typed, want) in [
        (&b"ls\r\n"[..], r"you said\r\nls\r\ndubbo>"),
        (b"\r\n", "dubbo>"),
        (b"a\nb\n", r"you said\r\na\r\ndubbo>you said\r\nb\r\ndubbo>"),
        (
            b"panic\n",
            r"the command failed: it panicked, and the log has more\r\ndubbo>",
        ),
        (
            &[&[b'x'; 2049][..], b"\n"].concat(),
            r"the line is longer than 2048 bytes, and was not read\r\ndubbo>",
        ),
        (b"hang\n", ""),
        (b"never\n", ""),
        (b"\xff\xf4\xff\xfd\x06", r"\xff\xfc\x06\r\ndubbo>"),
        (b"again\n", r"you said\r\nagain\r\ndubbo>"),
        (b"quit\n", r"bye\r\n"),
    ] {
        terminal.types(typed).await;
        assert_eq!(terminal.sees().await, want, "{}", typed.escape_ascii());
    }
    assert!(terminal.is_hung_up_on().await);
}

#[tokio::test(start_paused = true)]
async fn a_script_may_end_its_input_before_it_has_read_the_answers() {
    let mut terminal = Terminal::from(2);
    terminal.types(b"a\nb\n").await;
    terminal.0.shutdown().await.expect("open");
    let seen = terminal.sees().await;
    assert!(
        seen.ends_with(r"you said\r\na\r\ndubbo>you said\r\nb\r\ndubbo>"),
        "{seen}"
    );
    assert!(terminal.is_hung_up_on().await);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_be_here_is_told_why() {
    let mut terminal = Terminal::from(1);
    assert_eq!(terminal.sees().await, r"not you\r\n");
    assert!(terminal.is_hung_up_on().await);
}

#[tokio::test(start_paused = true)]
async fn nobody_stays_for_ever() {
    let start = Instant::now();
    let mut idle = Terminal::from(2);
    assert!(!idle.sees().await.is_empty());
    let mut rest = String::new();
    idle.0.read_to_string(&mut rest).await.expect("text");
    assert_eq!(rest, "nothing was typed for 300s\r\n");
    assert_eq!(start.elapsed().as_secs(), 300);

    let start = Instant::now();
    let mut hanging = Terminal::from(2);
    hanging.types(b"hang\nquit\n").await;
    hanging.0.read_to_string(&mut rest).await.expect("text");
    assert!(rest.contains("the command took longer than 60s"), "{rest}");
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn who_waits_for_a_prompt_gets_one() {
    let routes = Routes::new().shell(std::sync::Arc::new(Echo));
    let listener = Listener::bind("127.0.0.1", 0, routes)
        .await
        .expect("a free port");
    let mut silent = tokio::net::TcpStream::connect(listener.address())
        .await
        .expect("open");
    let mut greeting = [0; 20];
    silent.read_exact(&mut greeting).await.expect("greeted");
    assert_eq!(&greeting, b"hello\r\nthere\r\ndubbo>");
}
