//! What is typed on the port for operators: no input panics, and a line that was read is one: it is not too long, has no signs
//! of control, and is the same when it is typed again.

#![no_main]

use dubbo_protocol::fuzzing::{LONGEST_LINE, typed_lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (lines, too_long, _) = typed_lines(bytes);
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines.len() + too_long <= ends);
    for line in &lines {
        // What is no UTF-8 became three bytes for one.
        assert!(line.len() <= 3 * LONGEST_LINE);
        assert_eq!(line.trim(), line);
        assert!(!line.contains(|sign: char| sign.is_ascii_control() && sign != '\t'));
        if line.len() <= LONGEST_LINE {
            let again = typed_lines(format!("{line}\r\n").as_bytes());
            assert_eq!(again, (vec![line.clone()], 0, false));
        }
    }
});
