//! The files of the metadata cache: no input panics or takes more than it has bytes for, and what was read is the same
//! once it is written and read again, whatever stands before it.

#![no_main]

use dubbo_metadata::cache::record::{append, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    same_again::<3>(bytes);
    same_again::<4>(bytes);
    if let Ok(text) = str::from_utf8(bytes) {
        let mut file = Vec::new();
        assert!(append(&mut file, [text, "", text]));
        assert_eq!(read(&file).sound, [[text, "", text]]);
    }
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
