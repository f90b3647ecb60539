//! What somebody types, byte by byte: lines, and the signs of a telnet among them.

/// Makes lines of bytes.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// The line is longer than lines may be; its rest is not kept.
    is_too_long: bool,
    /// What the last bytes have begun.
    begun: Begun,
}

/// What somebody has typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// The sign for the end of all input, at the beginning of a line.
    End,
    /// Ctrl-C, and what the telnet that sends it is to be answered.
    Interrupt(&'static [u8]),
    /// A line, without what ends it and without blanks around it.
    Line(String),
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    Nothing,
    /// Commands of a telnet begin with this byte.
    Command,
    /// An offer or a demand, of which the option is yet to come.
    Option,
    /// What is negotiated about an option, up to its end.
    Negotiation,
    NegotiationEnd,
}

impl Lines {
    /// Takes one byte in: what is complete with it.
    pub(super) fn take(&mut self, byte: u8) -> Option<Typed> {
        match (self.begun, byte) {
            (Begun::Nothing, IAC) => self.begun = Begun::Command,
            (Begun::Nothing, byte) => return self.plain(byte),
            (Begun::Command, INTERRUPT) => {
                self.begun = Begun::Nothing;
                return Some(self.interrupted(&WILL_NOT_MARK));
            }
            (Begun::Command, NEGOTIATE) => self.begun = Begun::Negotiation,
            (Begun::Command, WILL..=DO_NOT) => self.begun = Begun::Option,
            (Begun::Command | Begun::Option, _) | (Begun::NegotiationEnd, NEGOTIATED) => {
                self.begun = Begun::Nothing;
            }
            (Begun::Negotiation, IAC) => self.begun = Begun::NegotiationEnd,
            (Begun::Negotiation | Begun::NegotiationEnd, _) => self.begun = Begun::Negotiation,
        }
        None
    }

    fn plain(&mut self, byte: u8) -> Option<Typed> {
        match byte {
            b'\n' => return Some(self.line()),
            CTRL_C => return Some(self.interrupted(b"")),
            CTRL_D if self.line.is_empty() && !self.is_too_long => return Some(Typed::End),
            BACKSPACE | DELETE => self.erase(),
            // Carriage returns stand before line feeds, and every other sign of control is nothing that commands have.
            _ if byte.is_ascii_control() && byte != b'\t' => {}
            _ if self.line.len() < MAX_LINE => self.line.push(byte),
            _ => self.is_too_long = true,
        }
        None
    }

    fn line(&mut self) -> Typed {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            return Typed::TooLong;
        }
        Typed::Line(String::from_utf8_lossy(&line).trim().to_owned())
    }

    fn interrupted(&mut self, answer: &'static [u8]) -> Typed {
        self.line.clear();
        self.is_too_long = false;
        Typed::Interrupt(answer)
    }

    /// Takes the last character back, whatever its bytes.
    fn erase(&mut self) {
        while let Some(byte) = self.line.pop() {
            let goes_on = byte & 0b1100_0000 == 0b1000_0000;
            if !goes_on {
                return;
            }
        }
    }
}

/// As many bytes a line may have (`docs/spec/config.md` §6.2).
pub(super) const MAX_LINE: usize = 2048;

/// RFC 854: the byte before each command of a telnet, and the commands.
const IAC: u8 = 255;
const INTERRUPT: u8 = 244;
const NEGOTIATE: u8 = 250;
const NEGOTIATED: u8 = 240;
const WILL: u8 = 251;
const DO_NOT: u8 = 254;
/// A telnet that interrupts asks for a timing mark, and throws away what comes before the answer.
const WILL_NOT_MARK: [u8; 3] = [IAC, 252, 6];

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Vec<Typed> {
        let mut lines = Lines::default();
        bytes.iter().filter_map(|&byte| lines.take(byte)).collect()
    }

    fn line(text: &str) -> Typed {
        Typed::Line(text.to_owned())
    }

    #[test]
    fn lines_end_with_a_line_feed_whatever_stands_before_it() {
        for (bytes, want) in [
            (&b"ls\r\nhelp\n"[..], vec![line("ls"), line("help")]),
            (b"  ls -l\t \r\0\n", vec![line("ls -l")]),
            (b"\n\r\n", vec![line(""), line("")]),
            (b"unfinished", vec![]),
            (b"lx\x08s\n", vec![line("ls")]),
            (b"\x7f\x7fls\n", vec![line("ls")]),
            ("lü\u{8}s\n".as_bytes(), vec![line("ls")]),
            (b"a\xffb\n", vec![line("a")]),
            (b"a\xfe\n", vec![line("a\u{fffd}")]),
        ] {
            assert_eq!(typed(bytes), want, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn signs_of_a_telnet_are_no_text() {
        for (bytes, want) in [
            // It offers and asks for options, and negotiates one.
            (&b"\xff\xfd\x03ls\xff\xfb\x18\n"[..], vec![line("ls")]),
            (
                b"l\xff\xfa\x18\0x\n\xff\xffterm\xff\xf0s\n",
                vec![line("ls")],
            ),
            // Are you there.
            (b"\xff\xf6ls\n", vec![line("ls")]),
            (
                b"half a li\xff\xf4\xff\xfd\x06ls\n",
                vec![Typed::Interrupt(&[0xff, 0xfc, 6]), line("ls")],
            ),
            (
                b"half a li\x03ls\n",
                vec![Typed::Interrupt(b""), line("ls")],
            ),
            (b"\x04", vec![Typed::End]),
            (b"x\x04\n", vec![line("x")]),
        ] {
            assert_eq!(typed(bytes), want, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_none_and_takes_no_more_room() {
        let mut bytes = vec![b'x'; MAX_LINE];
        bytes.push(b'\n');
        assert!(matches!(&typed(&bytes)[..], [Typed::Line(line)] if line.len() == MAX_LINE));
        let mut lines = Lines::default();
        for _ in 0..10 * MAX_LINE {
            assert_eq!(lines.take(b'x'), None);
        }
        assert!(lines.line.capacity() <= 2 * MAX_LINE);
        assert_eq!(lines.take(b'\n'), Some(Typed::TooLong));
        assert_eq!(lines.take(b'\n'), Some(line("")));
    }
}
