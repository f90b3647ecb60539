//! Talking in lines.

use std::{collections::VecDeque, io, panic::AssertUnwindSafe, time::Duration};

use dubbo_core::invocation::Peer;
use futures_util::FutureExt as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::{
    Said, Shell,
    lines::{Lines, MAX_LINE, Typed},
};

/// Talks to `peer` until it goes, `shell` sends it away, or nothing has come from it for long.
///
/// # Errors
///
/// The connection broke, or nobody reads at its other end.
pub(super) async fn serve<S>(stream: S, peer: &Peer, shell: &dyn Shell) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut terminal = Terminal {
        stream,
        lines: Lines::default(),
        typed: VecDeque::new(),
        is_over: false,
    };
    match shell.welcome(peer) {
        Ok(banner) => terminal.say(&banner).await?,
        Err(refusal) => return terminal.say(&refusal).await,
    }
    loop {
        terminal.write(PROMPT.as_bytes()).await?;
        let Some(typed) = terminal.next().await? else {
            return Ok(());
        };
        let line = match typed {
            Typed::End => return Ok(()),
            Typed::Interrupt(mark) => {
                terminal.interrupted(mark).await?;
                continue;
            }
            Typed::Line(line) if line.is_empty() => continue,
            Typed::Line(line) => line,
            Typed::TooLong => {
                let refusal = format!("the line is longer than {MAX_LINE} bytes, and was not read");
                terminal.say(&refusal).await?;
                continue;
            }
        };
        match terminal.during(answer(shell, peer, &line)).await? {
            Ok(Said::Text(text)) => terminal.say(&text).await?,
            Ok(Said::Bye(text)) => return terminal.say(&text).await,
            Err(mark) => terminal.interrupted(mark).await?,
        }
    }
}

async fn answer(shell: &dyn Shell, peer: &Peer, line: &str) -> Said {
    let answering = AssertUnwindSafe(shell.answer(peer, line)).catch_unwind();
    match timeout(ANSWER, answering).await {
        Ok(Ok(said)) => said,
        Ok(Err(_)) => {
            tracing::error!(line, "a command of an operator panicked");
            Said::Text("the command failed: it panicked, and the log has more".to_owned())
        }
        Err(_) => Said::Text(format!(
            "the command took longer than {ANSWER:?}, and was stopped"
        )),
    }
}

/// A connection, and what was typed on it and has yet to be looked at.
struct Terminal<S> {
    stream: S,
    lines: Lines,
    typed: VecDeque<Typed>,
    /// Nothing more will be typed.
    is_over: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Terminal<S> {
    /// What is typed next; `None` when nothing more comes.
    async fn next(&mut self) -> io::Result<Option<Typed>> {
        loop {
            if let Some(typed) = self.typed.pop_front() {
                return Ok(Some(typed));
            }
            if self.is_over {
                return Ok(None);
            }
            let Ok(read) = timeout(IDLE, self.read()).await else {
                self.say(&format!("nothing was typed for {IDLE:?}")).await?;
                return Ok(None);
            };
            read?;
        }
    }

    /// Waits for `answer`, or until it is interrupted: then there is the mark that is to be answered.
    async fn during(
        &mut self,
        answer: impl Future<Output = Said>,
    ) -> io::Result<Result<Said, &'static [u8]>> {
        let mut answer = std::pin::pin!(answer);
        loop {
            // Lines that wait are few: who types on waits for answers now and then.
            let can_read = !self.is_over && self.typed.len() < MOST_WAITING;
            tokio::select! {
                biased;
                said = answer.as_mut() => return Ok(Ok(said)),
                read = self.read(), if can_read => read?,
            }
            let last = self.typed.iter().enumerate().rev();
            let interrupt = last.into_iter().find_map(|(at, typed)| match typed {
                Typed::Interrupt(mark) => Some((at, *mark)),
                _ => None,
            });
            if let Some((at, mark)) = interrupt {
                // What was typed before it is not meant any more.
                self.typed.drain(..=at);
                return Ok(Err(mark));
            }
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 512];
        let read = self.stream.read(&mut bytes).await?;
        self.is_over = read == 0;
        for &byte in &bytes[..read] {
            self.typed.extend(self.lines.take(byte));
        }
        Ok(())
    }

    async fn interrupted(&mut self, mark: &[u8]) -> io::Result<()> {
        self.write(mark).await?;
        self.write(b"\r\n").await
    }

    /// Says `text`, in lines as a telnet has them.
    async fn say(&mut self, text: &str) -> io::Result<()> {
        let mut all = String::with_capacity(text.len() + 16);
        for line in text.trim_end_matches('\n').split('\n') {
            all.push_str(line.trim_end_matches('\r'));
            all.push_str("\r\n");
        }
        self.write(all.as_bytes()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        let late = || {
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("nothing was read for {WRITE:?}"),
            )
        };
        timeout(WRITE, written)
            .await
            .unwrap_or_else(|_| Err(late()))
    }
}

const PROMPT: &str = "dubbo>";

/// Who types nothing for so long has gone (`docs/spec/config.md` §6.2).
const IDLE: Duration = Duration::from_mins(5);

const ANSWER: Duration = Duration::from_mins(1);

const WRITE: Duration = Duration::from_secs(10);

/// Lines that may wait for the answer to another.
const MOST_WAITING: usize = 64;
