//! A measured program that is told what to do: commands on its standard input, an answer to each on its standard output.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    str::FromStr,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::failure::Failure;

/// A running program, which ends when its value is dropped.
pub(super) struct Worker {
    /// What the report calls it.
    pub(super) name: &'static str,
    by_hand: String,
    child: Child,
    commands: ChildStdin,
    answers: Receiver<String>,
    /// It owes an answer, which would be taken for that of a later command.
    owes: bool,
}

impl Worker {
    /// Starts `command`. Its errors are shown.
    pub(super) fn start(name: &'static str, command: &mut Command) -> Result<Self, Failure> {
        let by_hand = format!("run it by hand, and type commands: {command:?}");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child
            .map_err(|e| Failure::new(format!("`{name}` cannot be started: {e}"), &*by_hand))?;
        let (Some(commands), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for");
        };
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            name,
            by_hand,
            child,
            commands,
            answers,
            owes: false,
        })
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives it `command`, and waits for its answer.
    pub(super) fn ask(&mut self, command: &str) -> Result<String, Failure> {
        let failure = |name: &str, by_hand: &str, why: &str| {
            let shown: String = command.chars().take(COMMAND_SHOWN).collect();
            Failure::new(format!("`{name}` was asked to `{shown}`: {why}"), by_hand)
        };
        if self.owes {
            let why = "it has not answered an earlier command";
            return Err(failure(self.name, &self.by_hand, why));
        }
        if let Err(error) = writeln!(self.commands, "{command}") {
            return Err(failure(self.name, &self.by_hand, &error.to_string()));
        }
        let answer = match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(error) => {
                self.owes = true;
                return Err(failure(self.name, &self.by_hand, &error.to_string()));
            }
        };
        match answer.strip_prefix("error: ") {
            Some(error) => Err(failure(self.name, &self.by_hand, error)),
            None => Ok(answer),
        }
    }

    /// The same for a command that is answered with `N` numbers.
    pub(super) fn ask_numbers<T: FromStr, const N: usize>(
        &mut self,
        command: &str,
    ) -> Result<[T; N], Failure> {
        let answer = self.ask(command)?;
        let numbers: Result<Vec<T>, _> = answer.split_whitespace().map(str::parse).collect();
        numbers
            .ok()
            .and_then(|numbers| numbers.try_into().ok())
            .ok_or_else(|| {
                let problem = format!(
                    "`{}` answers `{command}` with `{answer}`, which is not {N} numbers",
                    self.name
                );
                Failure::new(problem, &*self.by_hand)
            })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For the longest round, and for starting.
const PATIENCE: Duration = Duration::from_mins(1);
/// Values in commands are long.
const COMMAND_SHOWN: usize = 40;
