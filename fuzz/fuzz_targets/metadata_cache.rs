//! The files of the metadata cache: no input panics, what was read is the same once it is written and read again, and one
//! damaged byte costs one record.

#![no_main]

use dubbo_metadata::cache::record::{append, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    same_again::<3>(bytes);
    same_again::<4>(bytes);
    damaged(bytes);
});

fn same_again<const TEXTS: usize>(bytes: &[u8]) {
    let records = read::<TEXTS>(bytes);
    assert!(records.sound.len() * 16 <= bytes.len());
    let mut file = Vec::new();
    for texts in &records.sound {
        assert!(append(&mut file, *texts));
    }
    let again = read::<TEXTS>(&file);
    assert_eq!((again.sound, again.damaged), (records.sound, 0));
}

/// The first bytes say which byte of the records of the other lines is changed, and how.
fn damaged(bytes: &[u8]) {
    let Some(([high, low, change], text)) = bytes.split_first_chunk() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let mut want: Vec<_> = text.lines().map(|line| [line, "", line]).collect();
    let (mut file, mut ends) = (Vec::new(), Vec::new());
    for texts in &want {
        assert!(append(&mut file, *texts));
        ends.push(file.len());
    }
    let records = read(&file);
    assert_eq!((&records.sound, records.damaged), (&want, 0));

    let at = usize::from(u16::from_be_bytes([*high, *low]));
    let (Some(byte), true) = (file.get_mut(at), *change != 0) else {
        return;
    };
    *byte ^= change;
    want.remove(ends.iter().filter(|end| **end <= at).count());
    assert_eq!(read(&file).sound, want);
}
