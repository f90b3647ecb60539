//! The base64 of `application/grpc-web-text`.
//!
//! A sender encodes what it has whenever it has something, so there is padding in the middle, and the network cuts anywhere.
//! No I/O here: text goes in as it comes, bytes come out.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

/// Turns text into bytes, four characters at a time.
#[derive(Debug, Default)]
pub(in crate::triple::server) struct TextDecoder {
    /// Those that wait for the rest of their four.
    waiting: Vec<u8>,
    /// How many have been decoded.
    done: u64,
}

/// A body that is no base64.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is no base64 {problem}")]
pub(in crate::triple::server) struct BadText {
    problem: String,
}

impl TextDecoder {
    /// The bytes in all the fours that are complete with `text`.
    ///
    /// # Errors
    ///
    /// It is no base64. There is nothing to be had from the decoder after that.
    pub(in crate::triple::server) fn push(&mut self, text: &[u8]) -> Result<Bytes, BadText> {
        let mut out = Vec::with_capacity((self.waiting.len() + text.len()) / 4 * 3);
        let mut rest = text;
        if !self.waiting.is_empty() {
            let (missing, after) = rest.split_at(rest.len().min(4 - self.waiting.len()));
            self.waiting.extend_from_slice(missing);
            rest = after;
            if self.waiting.len() < 4 {
                return Ok(Bytes::new());
            }
            let four = std::mem::take(&mut self.waiting);
            self.decode(&four, &mut out)?;
        }
        let (whole, tail) = rest.split_at(rest.len() / 4 * 4);
        let mut whole = whole;
        while !whole.is_empty() {
            // Padding ends what was encoded at once.
            let end = whole.iter().position(|&byte| byte == b'=');
            let end = end.map_or(whole.len(), |at| at / 4 * 4 + 4);
            let (part, after) = whole.split_at(end);
            self.decode(part, &mut out)?;
            whole = after;
        }
        self.waiting.extend_from_slice(tail);
        Ok(out.into())
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// It ends within a four.
    pub(in crate::triple::server) fn finish(&self) -> Result<(), BadText> {
        match self.waiting.len() {
            0 => Ok(()),
            more => Err(BadText {
                problem: format!(
                    "at its end: of {} characters the last {more} are no four; is the padding missing?",
                    self.done + more as u64
                ),
            }),
        }
    }

    fn decode(&mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), BadText> {
        STANDARD.decode_vec(part, out).map_err(|error| BadText {
            problem: format!("after {} characters: {error}", self.done),
        })?;
        self.done += part.len() as u64;
        Ok(())
    }
}

/// `bytes` as text, with padding.
pub(in crate::triple::server) fn encode(bytes: &[u8]) -> Bytes {
    STANDARD.encode(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(parts: &[&[u8]]) -> Result<Vec<u8>, BadText> {
        let mut decoder = TextDecoder::default();
        let mut out = Vec::new();
        for part in parts {
            out.extend_from_slice(&decoder.push(part)?);
        }
        decoder.finish()?;
        Ok(out)
    }

    #[test]
    fn text_is_decoded_however_it_is_cut_and_padded() {
        for (text, want) in [
            ("", &b""[..]),
            ("AAAAAAI=", b"\0\0\0\0\x02"),
            ("AAAAAAI=aGk=", b"\0\0\0\0\x02hi"),
            ("AA==AA==AAAAAmhp", b"\0\0\0\0\0\x02hi"),
            ("aGVsbG8gd29ybGQ=IQ==", b"hello world!"),
        ] {
            for size in 1..=text.len().max(1) {
                let parts: Vec<_> = text.as_bytes().chunks(size).collect();
                assert_eq!(
                    decode(&parts).as_deref(),
                    Ok(want),
                    "{text}, {size} at a time"
                );
            }
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for len in 0..10 {
            let bytes: Vec<u8> = (0..len).map(|n| n * 31).collect();
            assert_eq!(decode(&[&encode(&bytes)]), Ok(bytes));
        }
    }

    #[test]
    fn what_is_no_base64_is_refused_and_says_where() {
        for (text, want) in [
            ("AAA", "the last 3"),
            ("AAAAA", "of 5 characters the last 1"),
            ("AAAA AAA", "after 0 characters"),
            ("AA=A", "after 0 characters"),
            ("AAAA=AAA", "after 0 characters"),
            ("AAAAAAI=====", "after 8 characters"),
            ("AAAAAAJ=", "after 0 characters"),
            ("__--", "after 0 characters"),
            ("\0\0\0\0", "after 0 characters"),
        ] {
            let error = decode(&[text.as_bytes()]).expect_err(text);
            assert!(error.to_string().contains(want), "{text}: {error}");
        }
    }
}
