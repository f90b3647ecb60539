//! How the files of a cache are written: records that stand for themselves.
//!
//! `docs/spec/metadata.md` §4.4. A file begins with a line that says what it is. A record is a head of 16 bytes and a body:
//!
//! ```text
//! head: mark d6 d7 d8 d9 | length of the body | CRC32C of the body | CRC32C of the twelve bytes before it
//! body: each text as its length and its UTF-8 bytes
//! ```
//!
//! Numbers are unsigned, 32 bits, little-endian. A damaged body is stepped over, because its length is trusted; after a
//! damaged head the next mark is looked for. So damage costs the records that it is in, and no others.

/// Appends the record of `texts` to `file`.
///
/// Returns whether it could be: a text of 4 GiB or more has no length.
#[must_use]
pub fn append<const TEXTS: usize>(file: &mut Vec<u8>, texts: [&str; TEXTS]) -> bool {
    let start = file.len();
    let is_written = try_append(file, texts).is_some();
    if !is_written {
        file.truncate(start);
    }
    is_written
}

/// Reads records of that many texts, whatever else is between them. It takes no more memory than `bytes` has room for,
/// and no more time than it takes to look at each byte a few times.
pub fn read<const TEXTS: usize>(bytes: &[u8]) -> Records<'_, TEXTS> {
    let mut records = Records {
        sound: Vec::new(),
        damaged: 0,
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(head) = Head::read(rest) else {
            records.damaged += 1;
            rest = from_next_mark(rest);
            continue;
        };
        let Some((body, after)) = rest[HEAD..].split_at_checked(head.length) else {
            // It was cut off here.
            records.damaged += 1;
            break;
        };
        rest = after;
        match texts(body) {
            Some(texts) if head.checksum == crc32c(body) => records.sound.push(texts),
            _ => records.damaged += 1,
        }
    }
    records
}

/// What was found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records<'b, const TEXTS: usize> {
    /// The records that are as they were written, in their order.
    pub sound: Vec<[&'b str; TEXTS]>,
    /// In how many places something else was.
    pub damaged: usize,
}

fn try_append<const TEXTS: usize>(file: &mut Vec<u8>, texts: [&str; TEXTS]) -> Option<()> {
    let start = file.len();
    file.extend(MARK);
    file.extend([0; HEAD - MARK.len()]);
    for text in texts {
        file.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
        file.extend(text.as_bytes());
    }
    let (head, body) = file[start..].split_at_mut(HEAD);
    head[4..8].copy_from_slice(&u32::try_from(body.len()).ok()?.to_le_bytes());
    head[8..12].copy_from_slice(&crc32c(body).to_le_bytes());
    let checksum = crc32c(&head[..12]);
    head[12..].copy_from_slice(&checksum.to_le_bytes());
    Some(())
}

struct Head {
    length: usize,
    checksum: u32,
}

impl Head {
    /// The head that `bytes` begin with, if it is sound.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (head, _) = bytes.split_at_checked(HEAD)?;
        let (checked, checksum) = head.split_at(12);
        let mut checked_rest = checked.strip_prefix(&MARK)?;
        let head = Self {
            length: usize::try_from(number(&mut checked_rest)?).ok()?,
            checksum: number(&mut checked_rest)?,
        };
        (number(&mut &*checksum)? == crc32c(checked)).then_some(head)
    }
}

/// The texts of a body, which must be that many and nothing else.
fn texts<const TEXTS: usize>(mut body: &[u8]) -> Option<[&str; TEXTS]> {
    let mut texts = [""; TEXTS];
    for text in &mut texts {
        let length = usize::try_from(number(&mut body)?).ok()?;
        let (bytes, rest) = body.split_at_checked(length)?;
        *text = str::from_utf8(bytes).ok()?;
        body = rest;
    }
    body.is_empty().then_some(texts)
}

/// Takes a number from the front.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn from_next_mark(bytes: &[u8]) -> &[u8] {
    let next = bytes[1..].windows(MARK.len()).position(|at| at == MARK);
    next.map_or(&[], |next| &bytes[1 + next..])
}

/// The checksum of Castagnoli's polynomial, as iSCSI has it.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let index = usize::from(crc.to_le_bytes()[0] ^ byte);
        CRC32C[index] ^ (crc >> 8)
    };
    !bytes.iter().fold(!0, step)
}

const fn crc32c_of_each_byte() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256_u32 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            let polynomial = if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            crc = (crc >> 1) ^ polynomial;
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

const CRC32C: [u32; 256] = crc32c_of_each_byte();

/// Bytes that no UTF-8 text has in this order.
const MARK: [u8; 4] = [0xd6, 0xd7, 0xd8, 0xd9];

const HEAD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_others_compute() {
        // The check value, and an example of RFC 3720, appendix B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn what_is_written_is_read() {
        let file = file();
        assert_eq!(read(&file), all());
        assert_eq!(
            read::<2>(&[]),
            Records {
                sound: Vec::new(),
                damaged: 0
            }
        );
    }

    #[test]
    fn damage_costs_the_record_that_it_is_in_and_no_other() {
        let file = file();
        let lengths: Vec<_> = RECORDS.iter().map(|texts| one(*texts).len()).collect();
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                let mut end = 0;
                let hit = lengths.iter().position(|length| {
                    end += length;
                    at < end
                });
                let mut want = RECORDS.to_vec();
                want.remove(hit.expect("in one of them"));
                let found = read(&damaged);
                assert_eq!(found.sound, want, "byte {at} changed by {change:#x}");
                assert_eq!(found.damaged, 1, "byte {at} changed by {change:#x}");
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_off_has_the_records_before_the_cut() {
        let file = file();
        for length in 0..file.len() {
            let mut whole = 0;
            let before = RECORDS.iter().take_while(|texts| {
                whole += one(**texts).len();
                whole <= length
            });
            let found = read(&file[..length]);
            assert_eq!(found.sound, before.copied().collect::<Vec<_>>(), "{length}");
        }
    }

    #[test]
    fn a_length_that_is_a_lie_takes_nothing() {
        let mut file = one(RECORDS[0]);
        // Both checksums are right, and the length is that of nothing that is there.
        file[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        let checksum = crc32c(&file[..12]);
        file[12..16].copy_from_slice(&checksum.to_le_bytes());
        let found = read::<2>(&file);
        assert_eq!((found.sound.len(), found.damaged), (0, 1));

        // A text that claims more than its body has, in a body with the right checksum.
        let mut file = one(RECORDS[0]);
        file[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        let checksum = crc32c(&file[16..]);
        file[8..12].copy_from_slice(&checksum.to_le_bytes());
        let checksum = crc32c(&file[..12]);
        file[12..16].copy_from_slice(&checksum.to_le_bytes());
        file.extend(one(RECORDS[1]));
        let found = read(&file);
        assert_eq!(found.sound, [RECORDS[1]]);
        assert_eq!(found.damaged, 1);
    }

    #[test]
    fn records_of_another_number_of_texts_are_none() {
        let mut file = one(RECORDS[0]);
        file.extend(one(RECORDS[1]));
        for found in [read::<1>(&file).damaged, read::<3>(&file).damaged] {
            assert_eq!(found, 2);
        }
    }

    const RECORDS: [[&str; 2]; 4] = [
        ["order", "{\"app\":\"order\"}"],
        ["", ""],
        ["käse", "a\nb\u{0}"],
        ["last", "one"],
    ];

    fn file() -> Vec<u8> {
        RECORDS.iter().flat_map(|texts| one(*texts)).collect()
    }

    fn one<const TEXTS: usize>(texts: [&str; TEXTS]) -> Vec<u8> {
        let mut file = Vec::new();
        assert!(append(&mut file, texts));
        file
    }

    fn all() -> Records<'static, 2> {
        Records {
            sound: RECORDS.to_vec(),
            damaged: 0,
        }
    }
}
