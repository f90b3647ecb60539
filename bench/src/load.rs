//! What the programs that call are asked for.

use std::time::Duration;

use crate::commands;

/// Calls that are under way at a time.
pub const CALLERS: usize = 50;

/// One round of calls: the command `ping SIZE MILLIS`.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many bytes each call sends, and gets back.
    pub size: usize,
    /// For how long calls are begun.
    pub time: Duration,
}

impl Load {
    /// Reads the command.
    ///
    /// # Errors
    ///
    /// It is another one.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let ["ping", size, millis] = words else {
            return Err(format!("no command is like {}", words.join(" ")));
        };
        Ok(Self {
            size: size
                .parse()
                .map_err(|_| format!("{size} is no number of bytes"))?,
            time: commands::millis(millis)?,
        })
    }

    /// What is sent.
    pub fn payload(self) -> Vec<u8> {
        vec![b'x'; self.size]
    }
}

/// Whether an answer is what was sent.
///
/// # Errors
///
/// It is not.
pub fn check(answer: &[u8], sent: &[u8]) -> Result<(), String> {
    if answer == sent {
        Ok(())
    } else {
        Err(format!(
            "the answer of {} bytes is not what was sent",
            answer.len()
        ))
    }
}
