//! Frames: how they are written, and read however they were cut.

use bytes::{BufMut as _, Bytes, BytesMut};
use dubbo_core::payload::CodecError;

use super::vectors::{VECTORS, unhex, vector};
use crate::dubbo::{
    body::event::{HEARTBEAT, READ_ONLY},
    frame::{Frame, FrameDecoder, FrameError, FrameWriteError, Header, Received},
};

fn write(header: Header, body: &[u8]) -> Vec<u8> {
    let mut dst = BytesMut::new();
    header
        .write(LIMIT, &mut dst, |dst| {
            dst.put_slice(body);
            Ok(())
        })
        .expect("within the limit");
    dst.to_vec()
}

/// All frames in `bytes`, which come `step` at a time.
fn read(bytes: &[u8], step: usize) -> Result<Vec<Received>, FrameError> {
    let mut decoder = FrameDecoder::new(LIMIT);
    let mut all = Vec::new();
    for chunk in bytes.chunks(step) {
        decoder.room().put_slice(chunk);
        while let Some(received) = decoder.next()? {
            all.push(received);
        }
    }
    assert!(!decoder.is_within_frame());
    Ok(all)
}

fn frame(header: Header, body: &[u8]) -> Received {
    Received::Frame(Frame {
        header: Header {
            len: u32::try_from(body.len()).expect("short"),
            ..header
        },
        body: Bytes::copy_from_slice(body),
    })
}

#[test]
fn events_are_written_as_specified() {
    let heartbeat = Header::event(1, true);
    for (letter, header, body) in [
        ('A', heartbeat, HEARTBEAT),
        ('B', heartbeat.answer(20), HEARTBEAT),
        ('C', heartbeat.answer(20), b"NN"),
        ('D', Header::event(2, false), READ_ONLY),
        ('T', Header::event(2, true), HEARTBEAT),
        ('U', Header::event(2, true).answer(20), b"NN"),
    ] {
        assert_eq!(write(header, body), vector(letter), "V-{letter}");
        assert_eq!(read(&vector(letter), 16), Ok(vec![frame(header, body)]));
    }
}

#[test]
fn every_vector_is_read_wherever_it_was_cut() {
    let two: Vec<u8> = VECTORS
        .iter()
        .flat_map(|(letter, _)| vector(*letter))
        .collect();
    let whole = read(&two, usize::MAX).expect("frames");
    assert_eq!(whole.len(), VECTORS.len());
    for step in 1..=300 {
        assert_eq!(
            read(&two, step).as_ref(),
            Ok(&whole),
            "{step} bytes at a time"
        );
    }
    for (letter, _) in VECTORS {
        let bytes = vector(*letter);
        let all = read(&bytes, 1).expect("a frame");
        let [Received::Frame(frame)] = all.as_slice() else {
            panic!("V-{letter} is not one frame");
        };
        assert_eq!(write(frame.header, &frame.body), bytes, "V-{letter}");
    }
}

#[test]
fn a_frame_is_not_delayed_by_the_beginning_of_the_next() {
    let (first, second) = (vector('A'), vector('E'));
    let mut decoder = FrameDecoder::new(LIMIT);
    decoder
        .room()
        .put_slice(&[&first[..], &second[..15]].concat());
    assert!(matches!(decoder.next(), Ok(Some(Received::Frame(_)))));
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.is_within_frame());
    decoder.room().put_slice(&second[15..]);
    assert!(matches!(decoder.next(), Ok(Some(Received::Frame(frame))) if frame.header.id == 3));
}

#[test]
fn ids_serializations_and_statuses_are_kept_bit_for_bit() {
    for id in [0, 1, -1, i64::MIN, i64::MAX] {
        for (serialization, status) in [(0, 0), (2, 20), (23, 70), (31, 255)] {
            let header = Header {
                serialization,
                ..Header::request(id, true)
            }
            .answer(status);
            assert_eq!(read(&write(header, b"x"), 7), Ok(vec![frame(header, b"x")]));
        }
    }
}

#[test]
fn what_is_no_frame_ends_the_connection_after_the_frames_before_it() {
    let good = vector('A');
    for (bad, error) in [
        (&b"\xbb"[..], FrameError::Magic([0xbb, 0])),
        (b"\xda\xda", FrameError::Magic([0xda, 0xda])),
        (b"\x00\x01\xda\xbb", FrameError::Magic([0, 1])),
        (b"ls\r\n", FrameError::Magic(*b"ls")),
        (
            b"\xda\xbb\xc2\0\0\0\0\0\0\0\0\x01\xff\xff\xff\xff",
            FrameError::Length(-1),
        ),
        (
            b"\xda\xbb\xc2\0\0\0\0\0\0\0\0\x01\x80\0\0\0",
            FrameError::Length(i32::MIN),
        ),
    ] {
        let mut decoder = FrameDecoder::new(LIMIT);
        decoder.room().put_slice(&[&good, bad].concat());
        assert!(matches!(decoder.next(), Ok(Some(Received::Frame(_)))));
        assert_eq!(decoder.next(), Err(error));
    }
}

#[test]
fn a_body_over_the_limit_is_told_of_at_once_and_skipped_without_being_kept() {
    let len = u32::try_from(LIMIT + 1).expect("small");
    let mut header = vector('E')[..16].to_vec();
    header[12..].copy_from_slice(&len.to_be_bytes());
    let mut decoder = FrameDecoder::new(LIMIT);
    decoder.room().put_slice(&header);
    let oversize = Header {
        len,
        ..Header::request(3, true)
    };
    assert_eq!(decoder.next(), Ok(Some(Received::Oversize(oversize))));
    let mut left = LIMIT + 1;
    while left > 0 {
        assert_eq!(decoder.next(), Ok(None));
        assert!(decoder.is_within_frame());
        let now = left.min(1000);
        decoder.room().put_slice(&[7; 1000][..now]);
        left -= now;
    }
    assert_eq!(decoder.next(), Ok(None));
    decoder.room().put_slice(&vector('A'));
    assert!(matches!(decoder.next(), Ok(Some(Received::Frame(_)))));
}

#[test]
fn room_grows_with_what_has_come_and_not_with_what_is_claimed() {
    let mut decoder = FrameDecoder::new(usize::MAX);
    decoder
        .room()
        .put_slice(&unhex("dabbc2000000000000000001 7fffffff"));
    assert_eq!(decoder.next(), Ok(None));
    let room = decoder.room();
    assert!(room.capacity() < 1 << 16, "{}", room.capacity());
    let mut sent = 0;
    while sent < 1 << 20 {
        let room = decoder.room();
        let spare = room.capacity() - room.len();
        assert!(
            spare > 0 && room.capacity() <= 4 * sent.max(1 << 14),
            "{spare} at {sent}"
        );
        room.put_bytes(0, spare);
        sent += spare;
        assert_eq!(decoder.next(), Ok(None));
    }
}

#[test]
fn a_peer_that_fills_its_reads_gets_longer_ones() {
    /// What each of some reads may bring to a peer that sends frames of up to `at_most` bytes in each.
    fn rooms(at_most: usize) -> Vec<usize> {
        let mut decoder = FrameDecoder::new(usize::MAX);
        let read = |_| {
            let room = decoder.room();
            let spare = room.capacity() - room.len();
            let len = spare.min(at_most) - 16;
            let mut frame = unhex("dabbc2000000000000000001");
            frame.put_u32(u32::try_from(len).expect("short"));
            room.put_slice(&frame);
            room.put_bytes(0, len);
            assert!(matches!(decoder.next(), Ok(Some(Received::Frame(_)))));
            spare
        };
        (0..5).map(read).collect()
    }
    // It may be more: what is left of a buffer is used.
    let long = rooms(usize::MAX);
    assert_eq!(long[..3], [16_384, 32_768, 65_536]);
    assert!(long.iter().all(|room| *room <= 2 * 65_536), "{long:?}");
    assert!(rooms(1000).iter().all(|room| *room <= 16_384));
}

#[test]
fn a_frame_that_cannot_be_written_leaves_nothing_behind() {
    let mut dst = BytesMut::from(&b"before"[..]);
    let header = Header::request(1, true);
    let error = header.write(3, &mut dst, |dst| {
        dst.put_slice(b"four");
        Ok(())
    });
    assert!(matches!(
        error,
        Err(FrameWriteError::TooLarge { len: 4, limit: 3 })
    ));
    let error = header.write(3, &mut dst, |dst| {
        dst.put_slice(b"two");
        Err(CodecError::Count {
            type_name: "T",
            got: 2,
        })
    });
    assert!(matches!(
        error,
        Err(FrameWriteError::Body(CodecError::Count { .. }))
    ));
    assert_eq!(&dst[..], b"before");
    header.write(3, &mut dst, |_| Ok(())).expect("empty");
    assert_eq!(dst.len(), 6 + 16);
}

const LIMIT: usize = 5000;
