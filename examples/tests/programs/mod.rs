//! Running the examples as their users do.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// An example with its arguments, and the variables of its environment.
pub(crate) fn program(path: &str, args: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    for (name, _) in env::vars_os() {
        // They say to tests where servers are, and nothing to programs.
        if name.as_encoded_bytes().starts_with(b"DUBBO_TEST_") {
            command.env_remove(name);
        }
    }
    command.args(args).envs(variables.iter().copied());
    command
}

/// Runs a program to its good end and gives what it printed.
pub(crate) fn run(mut command: Command) -> String {
    let (output, text, errors) = ended(&mut command);
    let status = output.status;
    assert!(status.success(), "{command:?}: {status}\n{text}{errors}");
    text
}

/// A program that serves until it is told to stop. What goes out of scope before that is killed.
pub(crate) struct Serving {
    child: Child,
    lines: Receiver<String>,
    /// What it has printed so far.
    said: String,
}

impl Serving {
    /// Starts it, and waits until it has printed a line with `sign` in it.
    pub(crate) fn start(mut command: Command, sign: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let mut serving = Self {
            child,
            lines,
            said: String::new(),
        };
        serving.wait(sign);
        serving
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line with `sign` in it, and gives what was printed up to there since the last one.
    pub(crate) fn wait(&mut self, sign: &str) -> String {
        let before = self.said.len();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let said = &mut self.said;
            let line = line.unwrap_or_else(|_| panic!("it never said {sign:?}, but\n{said}"));
            said.push_str(&line);
            said.push('\n');
            if line.contains(sign) {
                return said[before..].to_owned();
            }
        }
    }

    /// Tells it to stop as an operator would, expects a good end, and gives all that it printed.
    pub(crate) fn stop(self) -> String {
        let told = Command::new("kill")
            .args(["-TERM", &self.id().to_string()])
            .status()
            .expect("kill");
        assert!(told.success());
        self.end()
    }

    /// Waits for its good end, and gives all that it printed.
    pub(crate) fn end(mut self) -> String {
        let status = self.child.wait().expect("ends");
        self.said.extend(self.lines.iter().map(|line| line + "\n"));
        assert!(status.success(), "{status}\n{}", self.said);
        std::mem::take(&mut self.said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After `stop` there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to its end, and gives what it printed on standard output and on standard error.
pub(crate) fn ended(command: &mut Command) -> (Output, String, String) {
    let output = command.output().expect("starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    (output, printed, errors)
}

/// Far more than any line takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
