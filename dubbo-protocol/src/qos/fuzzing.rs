//! What `fuzz/` reaches into of the port for operators. Not a public interface.

use super::lines::{Lines, MAX_LINE, Typed};

/// The lines that were typed as `bytes`, how many were too long to be read, and whether the input was ended.
pub fn typed_lines(bytes: &[u8]) -> (Vec<String>, usize, bool) {
    let mut lines = Lines::default();
    let (mut read, mut too_long) = (Vec::new(), 0);
    for &byte in bytes {
        match lines.take(byte) {
            Some(Typed::Line(line)) => read.push(line),
            Some(Typed::TooLong) => too_long += 1,
            Some(Typed::End) => return (read, too_long, true),
            Some(Typed::Interrupt(_)) | None => {}
        }
    }
    (read, too_long, false)
}

/// As many bytes a line may have.
pub const LONGEST_LINE: usize = MAX_LINE;
