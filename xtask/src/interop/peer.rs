//! A peer at work: a process whose output is read as it comes.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

use super::{build::Program, lines::Notice, route::Party};

/// A running peer. Dropping it ends its input, and kills it if that does not end it; a peer that runs until its input
/// ends goes even when this process is killed.
#[derive(Debug)]
pub(crate) struct Peer {
    name: String,
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
}

/// What a peer printed, or why it did not.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Its output has ended.
    End,
    Line(String),
    /// Nothing came in time.
    Silence,
}

impl Peer {
    /// Starts `program` with `args`. Its errors go to `log`; it runs in the folder of that file, so that what it keeps
    /// where it runs is found there, too.
    pub(crate) fn start(program: &Program, args: &[String], log: PathBuf) -> Result<Self, Failure> {
        let args = [&*program.args, args].concat();
        let name = name(program, &args);
        let cannot = |what: &str, e: std::io::Error| {
            Failure::new(format!("{what}: {e}"), "look at the rights of that path")
        };
        let folder = log.parent().unwrap_or(&log);
        fs::create_dir_all(folder)
            .map_err(|e| cannot(&format!("cannot make {}", folder.display()), e))?;
        let errors = File::create(&log)
            .map_err(|e| cannot(&format!("cannot write {}", log.display()), e))?;
        let mut child = process::program(&program.path)
            .args(&args)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|e| cannot(&format!("cannot start {name}"), e))?;
        let (sender, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self {
            name,
            child,
            lines,
            log,
        })
    }

    /// The next line, waited for at most that long.
    pub(crate) fn next(&self, limit: Duration) -> Heard {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Heard::Line(line),
            Err(RecvTimeoutError::Disconnected) => Heard::End,
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
        }
    }

    /// Waits until the peer gives a notice that is `wanted`. What comes before is dropped.
    pub(crate) fn await_notice(
        &self,
        limit: Duration,
        wanted: impl Fn(&Notice) -> bool,
    ) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        loop {
            match self.next(limit.saturating_sub(watch.elapsed())) {
                Heard::Line(line) if Notice::parse(&line).as_ref().is_some_and(&wanted) => {
                    return Ok(());
                }
                Heard::Line(_) => {}
                Heard::End => return Err(self.failure("ended too early")),
                Heard::Silence => return Err(self.failure("did not say what it should")),
            }
        }
    }

    /// Says a line to the peer.
    pub(crate) fn say(&mut self, line: &str) -> Result<(), Failure> {
        let said = match &mut self.child.stdin {
            Some(input) => writeln!(input, "{line}"),
            None => return Err(self.failure("was told something after its input had ended")),
        };
        said.map_err(|e| self.failure(&format!("cannot be told anything: {e}")))
    }

    /// Ends the peer as a power cut would: nothing of it runs any more, and nobody is told.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        let killed = self.child.kill();
        killed.map_err(|e| self.failure(&format!("cannot be killed: {e}")))
    }

    /// Asks the peer to stop, as an operator would.
    pub(crate) fn terminate(&self) -> Result<(), Failure> {
        // The standard library has no signals; every shell has `kill`.
        let mut kill = process::program("sh");
        kill.args([
            "-c",
            "kill -TERM \"$1\"",
            "sh",
            &self.child.id().to_string(),
        ]);
        process::output(&mut kill, "see why the peer is gone already").map(|_| ())
    }

    /// Stops a provider of `party` as an operator would, and expects it to end well.
    pub(crate) fn stop(self, party: Party, limit: Duration) -> Result<(), Failure> {
        self.terminate()?;
        let failure = self.failure("did not end well when it was told to stop");
        // A Java program that a signal ended says so, however well it ended.
        let well = match party {
            Party::Java => [Some(0), Some(143)],
            Party::Go | Party::GrpcGo | Party::Grpcio | Party::Rust => [Some(0); 2],
        };
        if well.contains(&self.finish(limit)?.code()) {
            Ok(())
        } else {
            Err(failure)
        }
    }

    /// Ends the peer's input.
    pub(crate) fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for the end of the peer, and gives its status.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<ExitStatus, Failure> {
        let watch = Stopwatch::start();
        loop {
            match self.next(limit.saturating_sub(watch.elapsed())) {
                Heard::Line(_) => {}
                // The output of a process ends with it.
                Heard::End => break,
                Heard::Silence => return Err(self.failure("did not end")),
            }
        }
        self.child
            .wait()
            .map_err(|e| self.failure(&format!("cannot be waited for: {e}")))
    }

    /// A failure of this peer, with the end of its log.
    pub(crate) fn failure(&self, problem: &str) -> Failure {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n    ");
        Failure::new(
            format!("{} {problem}\n    {tail}", self.name),
            format!("see {}", self.log.display()),
        )
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end_input();
        while let Heard::Line(_) = self.next(END_LIMIT) {}
        // It may have ended already; there is nobody to tell about anything else.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a peer is called in messages.
fn name(program: &Program, args: &[String]) -> String {
    let line = format!("{} {}", program.path.display(), args.join(" "));
    match line.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Class paths and lists of cases are long.
const NAME_CHARS: usize = 300;
/// How long a peer may take to end with its input.
const END_LIMIT: Duration = Duration::from_secs(2);
const LOG_LINES: usize = 10;
