//! gRPC-Web's trailers: lines in the last envelope of a body (`docs/spec/triple.md` §10.5).

use http::{HeaderMap, HeaderName, HeaderValue};

/// The trailers in `lines`. Names may be in any case, and lines may end with a bare line feed.
///
/// # Errors
///
/// The line that is none.
pub(super) fn trailers(lines: &[u8]) -> Result<HeaderMap, String> {
    let mut trailers = HeaderMap::new();
    for line in lines.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let (name, value) = read(line)
            .ok_or_else(|| format!("{:?} is no trailer", String::from_utf8_lossy(line)))?;
        let room = trailers.try_append(name, value);
        room.map_err(|_| "there are too many trailers".to_owned())?;
    }
    Ok(trailers)
}

fn read(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at(colon);
    let value = value[1..].trim_ascii();
    let name = HeaderName::from_bytes(name.trim_ascii()).ok()?;
    Some((name, HeaderValue::from_bytes(value).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_trailers_in_their_order() {
        let lines = b"Grpc-Status: 3\r\ngrpc-message:a%20b\r\nx: 1\nx: \r\n\r\n";
        let trailers = trailers(lines).expect("trailers");
        let all: Vec<_> = trailers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        assert_eq!(
            all,
            [
                ("grpc-status", &b"3"[..]),
                ("grpc-message", b"a%20b"),
                ("x", b"1"),
                ("x", b""),
            ]
        );
        assert!(super::trailers(b"").expect("none").is_empty());
    }

    #[test]
    fn what_is_no_trailer_is_shown() {
        for (lines, want) in [
            (&b"grpc-status"[..], "\"grpc-status\" is no trailer"),
            (b"x: 1\r\na b: 2\r\n", "\"a b: 2\" is no trailer"),
            (b"x: \x01\r\n", "is no trailer"),
            (b": 1", "is no trailer"),
        ] {
            let error = trailers(lines).expect_err("refused");
            assert!(error.contains(want), "{error}");
        }
        let many: Vec<_> = (0..40_000).map(|n| format!("a{n}: b\n")).collect();
        let error = trailers(many.concat().as_bytes()).expect_err("refused");
        assert!(error.contains("too many"), "{error}");
    }
}
