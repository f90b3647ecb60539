//! Reads the parts of an ISO 8601 text from the left.

use crate::java::InvalidValue;

/// What is left of the text. Each method takes what it names from the front, or leaves it and says `None`/`false`.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

/// Reads the whole of `text`; `want` is what the error says otherwise.
pub(super) fn whole<'a, T>(
    class: &'static str,
    text: &'a str,
    want: &'static str,
    read: impl FnOnce(&mut Scanner<'a>) -> Option<T>,
) -> Result<T, InvalidValue> {
    let mut scanner = Scanner { rest: text };
    read(&mut scanner)
        .filter(|_| scanner.rest.is_empty())
        .ok_or_else(|| InvalidValue::new(class, text, want))
}

impl<'a> Scanner<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// One character, whatever its case.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let mut chars = self.rest.chars();
        let found = chars
            .next()
            .is_some_and(|next| next.eq_ignore_ascii_case(&wanted));
        if found {
            self.rest = chars.as_str();
        }
        found
    }

    /// One character that must be there.
    pub(super) fn need(&mut self, wanted: char) -> Option<()> {
        self.take(wanted).then_some(())
    }

    /// A sign: −1 or 1; 1 if there is none.
    pub(super) fn sign(&mut self) -> i64 {
        if self.take('-') {
            -1
        } else {
            self.take('+');
            1
        }
    }

    /// At least `min` and at most `max` digits.
    pub(super) fn digits(&mut self, min: usize, max: usize) -> Option<&'a str> {
        let count = self
            .rest
            .bytes()
            .take(max)
            .take_while(u8::is_ascii_digit)
            .count();
        if count < min {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some(digits)
    }

    /// A number of two digits, as months and minutes have them.
    pub(super) fn two(&mut self) -> Option<i32> {
        self.digits(2, 2)?.parse().ok()
    }

    /// A year: four digits, or up to nine after a sign.
    pub(super) fn year(&mut self) -> Option<i32> {
        let signed = self.rest.starts_with(['+', '-']);
        let sign = self.sign();
        let digits = self.digits(4, if signed { 9 } else { 4 })?;
        i32::try_from(sign * digits.parse::<i64>().ok()?).ok()
    }

    /// A fraction of a second, in nanoseconds: up to nine digits after a point; zero if there is none.
    pub(super) fn nanos(&mut self) -> Option<i32> {
        if !self.take('.') && !self.take(',') {
            return Some(0);
        }
        let digits = self.digits(0, 9)?;
        format!("{digits:0<9}").parse().ok()
    }

    /// A signed number and the letter of its unit, as in `-3H`; the number may be missing as a whole.
    pub(super) fn amount(&mut self, unit: char) -> Option<i64> {
        let mut ahead = Self { rest: self.rest };
        let sign = ahead.sign();
        let amount = ahead
            .digits(1, 19)
            .and_then(|digits| digits.parse::<i64>().ok())?;
        ahead.need(unit)?;
        self.rest = ahead.rest;
        amount.checked_mul(sign)
    }

    /// What stands in square brackets.
    pub(super) fn bracketed(&mut self) -> Option<&'a str> {
        let (inside, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
        self.rest = rest;
        Some(inside)
    }
}
