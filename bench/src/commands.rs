//! Commands of the bench on the standard input, one a line, and an answer to each on the standard output.

use std::{
    io::{self, BufRead as _, Write as _},
    time::Duration,
};

/// Answers commands, which are given in words, until there are no more. An error is answered as `error: …`.
///
/// # Errors
///
/// The standard input or output is broken.
pub fn serve(mut answer: impl FnMut(&[&str]) -> Result<String, String>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match answer(&words) {
            Ok(answer) => writeln!(output, "{answer}")?,
            Err(error) => writeln!(output, "error: {error}")?,
        }
        output.flush()?;
    }
    Ok(())
}

/// A number of milliseconds in a command.
///
/// # Errors
///
/// It is no number.
pub fn millis(word: &str) -> Result<Duration, String> {
    let millis = word
        .parse()
        .map_err(|_| format!("{word} is no number of milliseconds"))?;
    Ok(Duration::from_millis(millis))
}
