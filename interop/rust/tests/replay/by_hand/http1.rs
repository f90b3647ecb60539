//! HTTP/1.1, byte for byte.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::Answer;
use crate::record::{End, Half, Headers, text};

/// Sends `bytes` and reads the answer.
pub(super) async fn ask(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    socket.write_all(bytes).await.expect("open");
    let mut came = Vec::new();
    loop {
        if let Some(answer) = read(&came, false) {
            return answer;
        }
        // A connection that is broken off has ended, too.
        if !matches!(socket.read_buf(&mut came).await, Ok(1..)) {
            return read(&came, true).expect("all there is");
        }
    }
}

/// The answer in `bytes`, if it is whole, or if there is no more.
pub(super) fn read(bytes: &[u8], is_all: bool) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut rest = bytes;
    loop {
        let Some((head, body)) = split(rest, b"\r\n\r\n") else {
            answer.half.end = End::GoneAway;
            return is_all.then_some(answer);
        };
        let head = text(head);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.expect("a status line").to_owned();
        if status.starts_with('1') && status != SWITCHING {
            answer.beside.push(("before", status));
            rest = body;
            continue;
        }
        let headers = fields(lines);
        let closes = headers.value("connection") == Some(b"close");
        answer.beside.push(("closes", closes.to_string()));
        if status == SWITCHING {
            answer.beside.push(("upgraded", true.to_string()));
        }
        answer.half = with_body(&status, headers, body, is_all)?;
        return Some(answer);
    }
}

/// The rest of the answer that begins like this.
fn with_body(status: &str, mut headers: Headers, rest: &[u8], is_all: bool) -> Option<Half> {
    let is_chunked = headers.value("transfer-encoding") == Some(b"chunked");
    let len = headers.text("content-length");
    headers
        .0
        .retain(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str()));
    headers
        .0
        .push((":status".to_owned(), status.as_bytes().to_vec()));
    let mut half = Half {
        headers,
        end: End::Complete,
        ..Half::default()
    };
    if [SWITCHING, "204"].contains(&status) {
        return Some(half);
    }
    if is_chunked {
        let (data, trailers) = dechunked(rest)?;
        half.data = data;
        half.trailers = (!trailers.0.is_empty()).then_some(trailers);
        return Some(half);
    }
    let len = len.map_or(usize::MAX, |len| len.parse().expect("a length"));
    // What is recorded may have been cut.
    half.data = rest[..len.min(rest.len())].to_vec();
    (is_all || half.data.len() == len).then_some(half)
}

/// The data and the trailers of a body in chunks, if it is whole.
fn dechunked(mut rest: &[u8]) -> Option<(Vec<u8>, Headers)> {
    let mut data = Vec::new();
    loop {
        let (size, chunk) = split(rest, b"\r\n")?;
        let size = usize::from_str_radix(&text(size), 16).expect("a size");
        if size == 0 {
            let (trailers, _) = split(&rest[1..], b"\r\n\r\n")?;
            return Some((data, fields(text(trailers).split("\r\n"))));
        }
        data.extend(chunk.get(..size)?);
        rest = chunk.get(size + 2..)?;
    }
}

/// What stands before `mark` and what stands behind it.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|part| part == mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Headers {
    let pairs = lines.filter_map(|line| line.split_once(':'));
    Headers(
        pairs
            .map(|(name, value)| {
                let name = name.to_ascii_lowercase();
                (name, value.trim().as_bytes().to_vec())
            })
            .collect(),
    )
}

const SWITCHING: &str = "101";

const OF_THE_CONNECTION: [&str; 3] = ["connection", "transfer-encoding", "upgrade"];

#[test]
fn an_answer_is_read_when_it_is_whole_and_not_before() {
    let plain =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nK: v\r\nContent-Length: 2\r\n\r\nhi";
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nT: u\r\n\r\n";
    for whole in [plain, chunked] {
        for len in 0..whole.len() {
            assert!(read(&whole.as_bytes()[..len], false).is_none(), "{len}");
        }
        let answer = read(whole.as_bytes(), false).expect("whole");
        assert_eq!(answer.half.data, b"hi");
    }
    let answer = read(plain.as_bytes(), true).expect("whole");
    assert_eq!(answer.half.headers.value("k"), Some(&b"v"[..]));
    assert_eq!(answer.beside[0], ("before", "100".to_owned()));
    let answer = read(chunked.as_bytes(), true).expect("whole");
    assert_eq!(answer.half.trailers, Some(Headers::of(&[("t", "u")])));
    let nothing = read(b"", true).expect("all there is");
    assert_eq!(nothing.half.end, End::GoneAway);
}
