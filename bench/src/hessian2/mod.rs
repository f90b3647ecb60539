//! The Hessian codec, writing and reading as it is told to; `xtask/src/bench/hessian2.rs` has the commands.

mod subject;
mod values;

use std::io;

use crate::commands;

/// Obeys the commands on the standard input.
///
/// # Errors
///
/// The standard input or output is broken.
pub fn serve() -> io::Result<()> {
    let mut subjects = values::subjects();
    commands::serve(|words| {
        let [command, name, rest @ ..] = words else {
            return Err("a command and the name of a value are needed".to_owned());
        };
        let subject = subjects
            .iter_mut()
            .find(|(known, _)| known == name)
            .map(|(_, subject)| subject)
            .ok_or_else(|| format!("no value is called {name}"))?;
        match (*command, rest) {
            ("write", []) => subject.write(),
            ("read", [hex]) => subject.read(hex),
            ("encode", [millis]) => subject.encode(commands::millis(millis)?),
            ("decode", [millis]) => subject.decode(commands::millis(millis)?),
            _ => Err(format!("no command is like {}", words.join(" "))),
        }
    })
}
