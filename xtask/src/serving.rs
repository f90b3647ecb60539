//! Programs that run beside others until they are told to stop.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

/// A program that serves. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
    advice: String,
}

impl Serving {
    /// Starts `command`, and returns when it has printed its first line. Gives up after `limit`.
    pub(crate) fn start(
        command: &mut Command,
        limit: Duration,
        advice: &str,
    ) -> Result<Self, Failure> {
        process::announce(command);
        let spawned = command.stdout(Stdio::piped()).spawn();
        let child = spawned.map_err(|e| process::not_started(command, &e))?;
        let mut serving = Self {
            child,
            advice: advice.to_owned(),
        };
        let (sender, first) = mpsc::channel();
        if let Some(output) = serving.child.stdout.take() {
            // Reads on to the end, so that the program can go on printing.
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    println!("{line}");
                    // Nobody listens after the first one.
                    let _ = sender.send(());
                }
            });
        }
        match first.recv_timeout(limit) {
            Ok(()) => Ok(serving),
            Err(_) => Err(serving.failure(&format!(
                "ended or said nothing within {} s",
                limit.as_secs()
            ))),
        }
    }

    /// Tells it to stop as an operator would, and expects a good end within `limit`.
    pub(crate) fn stop(mut self, limit: Duration) -> Result<(), Failure> {
        let pid = self.child.id().to_string();
        process::run(
            process::program("kill").args(["-TERM", &pid]),
            "see why it ended before it was told to",
        )?;
        let watch = Stopwatch::start();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.failure(&format!("ended with {status}"))),
                Ok(None) if watch.elapsed() > limit => {
                    let late = format!("did not end within {} s", limit.as_secs());
                    return Err(self.failure(&late));
                }
                Ok(None) => process::pause(),
                Err(error) => return Err(self.failure(&format!("cannot be waited for: {error}"))),
            }
        }
    }

    fn failure(&self, what: &str) -> Failure {
        Failure::new(format!("the program that serves {what}"), &self.advice)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After a good end there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Result<Serving, String> {
        let mut command = process::program("sh");
        let started = Serving::start(command.args(["-c", script]), LIMIT, "mend it");
        started.map_err(|failure| failure.to_string())
    }

    #[test]
    fn it_ends_well_when_it_is_told_to() {
        let script = "trap 'kill $!; exit 0' TERM; sleep 60 & echo ready; wait";
        let serving = start(script).expect("it prints a line");
        serving.stop(LIMIT).expect("it ends well");
    }

    #[test]
    fn what_does_not_serve_or_does_not_end_well_is_a_failure() {
        let silent = start("true").expect_err("it prints nothing");
        assert!(silent.contains("ended or said nothing"), "{silent}");
        let deaf = start("echo ready; exec sleep 60").expect("it prints a line");
        let failure = deaf.stop(LIMIT).expect_err("it dies of the signal");
        assert!(failure.to_string().contains("signal: 15"), "{failure}");
    }

    const LIMIT: Duration = Duration::from_secs(30);
}
