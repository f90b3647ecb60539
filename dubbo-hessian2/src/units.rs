//! Counting and finding the UTF-16 units of text that stands in bytes, a block at a time.

/// How many characters `bytes`, which are UTF-8, have, and how many of them are of two units.
pub(crate) fn count(bytes: &[u8]) -> (usize, usize) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let blocks = blocks.iter().map(<[u8; BLOCK]>::as_slice).chain([rest]);
    blocks.fold((0, 0), |(characters, pairs), block| {
        (
            characters + usize::from(starts(block)),
            pairs + usize::from(pairs_of(block)),
        )
    })
}

/// The bytes of the first `units` characters, if there are so many and each is of one unit.
///
/// Whether they are text at all is not checked. It reads no further than they reach, if they are.
pub(crate) fn prefix(bytes: &[u8], units: usize) -> Option<&[u8]> {
    if units == 0 {
        return Some(&[]);
    }
    let (mut start, mut left) = (0, units);
    // The last character starts behind these.
    while left > BLOCK
        && let Some(block) = bytes.get(start..start + BLOCK)
    {
        if pairs_of(block) > 0 {
            return None;
        }
        left -= usize::from(starts(block));
        start += BLOCK;
    }
    for (index, byte) in bytes.get(start..)?.iter().enumerate() {
        if *byte >= PAIR {
            return None;
        }
        left -= usize::from(is_start(*byte));
        if left == 0 {
            let width = 1 + usize::from(*byte >= 0xc0) + usize::from(*byte >= 0xe0);
            return bytes.get(..start + index + width);
        }
    }
    None
}

/// Bytes and units of the longest beginning of `text` that has at most `limit` units and ends between characters; of its
/// first character where even that has more.
pub(crate) fn fit(text: &str, limit: usize) -> (usize, usize) {
    let (mut end, mut units) = (0, 0);
    while let Some(block) = text.as_bytes().get(end..end + BLOCK) {
        let more = usize::from(starts(block)) + usize::from(pairs_of(block));
        if units + more > limit {
            break;
        }
        units += more;
        end += BLOCK;
    }
    // The last character of a block counts where it starts.
    while !text.is_char_boundary(end) {
        end += 1;
    }
    for character in text[end..].chars() {
        let width = character.len_utf16();
        if units + width > limit && units > 0 {
            break;
        }
        units += width;
        end += character.len_utf8();
    }
    (end, units)
}

/// Where the first byte stands that, with the one behind it, is what is looked for. Behind the last is 0.
pub(crate) fn find(bytes: &[u8], is: impl Fn(u8, u8) -> bool) -> Option<usize> {
    let mut start = 0;
    while let Some(block) = bytes.get(start..start + SHORT)
        && let Some(next) = bytes.get(start + 1..=start + SHORT)
    {
        // All of them, without a way out, so that the compiler looks at many at once.
        let found = block
            .iter()
            .zip(next)
            .fold(false, |found, (byte, next)| found | is(*byte, *next));
        if found {
            break;
        }
        start += SHORT;
    }
    let rest = bytes.get(start..)?;
    let next = rest.iter().skip(1).chain(&[0]);
    rest.iter()
        .zip(next)
        .position(|(byte, next)| is(*byte, *next))
        .map(|index| start + index)
}

/// How many characters start in at most 255 bytes.
fn starts(block: &[u8]) -> u8 {
    block.iter().map(|byte| u8::from(is_start(*byte))).sum()
}

/// How many of them are of two units.
fn pairs_of(block: &[u8]) -> u8 {
    block.iter().map(|byte| u8::from(*byte >= PAIR)).sum()
}

fn is_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The first byte of a character of four bytes, which has two units.
pub(crate) const PAIR: u8 = 0xf0;
/// A count of these fits into a byte, and the compiler counts them all at once.
const BLOCK: usize = 64;
/// Where something is looked for it is near, as a rule.
const SHORT: usize = 16;

#[cfg(test)]
mod tests {
    use super::{PAIR, count, find, fit, prefix};

    #[test]
    fn characters_are_counted_across_blocks() {
        for (text, expected) in [
            (String::new(), (0, 0)),
            ("a".repeat(1000), (1000, 0)),
            ("中é".repeat(333), (666, 0)),
            ("a😀中".repeat(77), (231, 77)),
        ] {
            assert_eq!(count(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_prefix_ends_behind_its_last_character() {
        for text in [
            "a".repeat(300),
            "中é".repeat(150),
            format!("{}é", "a".repeat(63)),
            "中a".repeat(32),
        ] {
            let ends = text
                .char_indices()
                .map(|(start, _)| start)
                .chain([text.len()]);
            for (units, end) in ends.enumerate() {
                // What follows looks like the inside of a character.
                let bytes = [text.as_bytes(), &[0x90; 100]].concat();
                assert_eq!(
                    prefix(&bytes, units),
                    Some(&bytes[..end]),
                    "{units} of {text}"
                );
            }
            assert_eq!(
                prefix(text.as_bytes(), text.chars().count() + 1),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn what_fits_ends_between_characters() {
        for text in [
            "a".repeat(200),
            "😀".repeat(50),
            "a😀中é".repeat(30),
            "中".repeat(70),
        ] {
            for limit in 0..=text.encode_utf16().count() + 1 {
                let (mut end, mut units) = (0, 0);
                for character in text.chars() {
                    if units + character.len_utf16() > limit && units > 0 {
                        break;
                    }
                    units += character.len_utf16();
                    end += character.len_utf8();
                }
                assert_eq!(fit(&text, limit), (end, units), "{limit} of {text}");
            }
        }
        assert_eq!(fit("", 7), (0, 0));
    }

    #[test]
    fn the_first_of_what_is_looked_for_is_found() {
        for before in [0, 1, 62, 63, 64, 65, 200] {
            for behind in [0, 1, 63, 64, 65] {
                let text = format!("{}😀{}", "a".repeat(before), "é😀".repeat(behind));
                assert_eq!(find(text.as_bytes(), |byte, _| byte >= PAIR), Some(before));
                let bytes = [vec![1; before], vec![2, 3], vec![2; behind]].concat();
                assert_eq!(
                    find(&bytes, |byte, next| (byte, next) == (2, 3)),
                    Some(before)
                );
                assert_eq!(find(&bytes, |byte, _| byte == 4), None);
            }
        }
        assert_eq!(
            find(&[2; 100], |byte, next| (byte, next) == (2, 0)),
            Some(99)
        );
        assert_eq!(find(&[], |_, _| true), None);
    }

    #[test]
    fn there_is_no_prefix_of_other_bytes() {
        assert_eq!(prefix(b"", 1), None);
        assert_eq!(prefix(&[0x90; 200], 1), None);
        assert_eq!(prefix("中".as_bytes().get(..2).expect("a part"), 1), None);
        for before in [0, 10, 100] {
            let text = format!("{}😀a", "a".repeat(before));
            assert_eq!(prefix(text.as_bytes(), before + 1), None);
            assert_eq!(
                prefix(text.as_bytes(), before),
                Some(&text.as_bytes()[..before])
            );
        }
        assert_eq!(prefix(&[0xff; 200], 100), None);
    }
}
