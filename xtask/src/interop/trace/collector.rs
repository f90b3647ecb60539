//! A collector of OpenTelemetry, which programs send their spans to by OTLP over HTTP/1.1.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use crate::{failure::Failure, process::Stopwatch};

use super::otlp::{self, Span};

/// Such a collector. It listens until this process ends.
#[derive(Debug)]
pub(super) struct Collector {
    /// `HOST:PORT`
    pub(super) address: String,
    exports: Receiver<Export>,
}

/// What came in a request, or why it was refused.
type Export = Result<Vec<Span>, String>;

impl Collector {
    /// Starts one on a port of its own.
    pub(super) fn start() -> Result<Self, Failure> {
        let cannot = |e| {
            Failure::new(
                format!("no collector can listen on 127.0.0.1: {e}"),
                "end some of the programs that listen there",
            )
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?.to_string();
        let (sender, exports) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || serve(&stream, &sender));
            }
        });
        Ok(Self { address, exports })
    }

    /// The spans that come from now on: more are waited for until there are `wanted` and none has come for a while.
    pub(super) fn gather(&self, wanted: usize) -> Result<Vec<Span>, Failure> {
        let mut spans = Vec::new();
        let watch = Stopwatch::start();
        loop {
            let limit = if spans.len() < wanted {
                LIMIT.saturating_sub(watch.elapsed())
            } else {
                QUIET
            };
            match self.exports.recv_timeout(limit) {
                Ok(Ok(more)) => spans.extend(more),
                Ok(Err(problem)) => {
                    return Err(Failure::new(
                        format!("what came is no export of spans: {problem}"),
                        "look at the exporters of the peers",
                    ));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Ok(spans);
                }
            }
        }
    }
}

/// Takes the exports of one connection until it ends.
fn serve(stream: &TcpStream, exports: &Sender<Export>) {
    let mut reader = BufReader::new(stream);
    while let Some(taken) = take(&mut reader) {
        let status = if taken.is_ok() {
            "200 OK"
        } else {
            "400 Bad Request"
        };
        let is_good = taken.is_ok();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n"
        );
        // The spans are there before their exporter knows it. After that either end may be gone.
        let said =
            exports.send(taken).is_ok() && (&mut &*stream).write_all(answer.as_bytes()).is_ok();
        if !said || !is_good {
            return;
        }
    }
}

/// Takes one request; none at the end of the connection.
fn take(reader: &mut BufReader<&TcpStream>) -> Option<Export> {
    let mut line = String::new();
    // Whoever ends between two requests is no problem.
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    Some(export(line.trim_end(), reader))
}

fn export(request: &str, reader: &mut BufReader<&TcpStream>) -> Export {
    let mut length = None;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(|e| e.to_string())?;
        let line = line.trim_end().to_ascii_lowercase();
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        match (name, value.trim()) {
            ("content-length", value) => length = value.parse().ok(),
            ("content-type", value) if value != "application/x-protobuf" => {
                return Err(format!("`{request}` has the content type {value}"));
            }
            ("content-encoding" | "transfer-encoding", value) => {
                return Err(format!("`{request}` has {name} {value}"));
            }
            _ => {}
        }
    }
    if !request.starts_with("POST /v1/traces ") {
        return Err(format!("`{request}` is none"));
    }
    let length = length
        .filter(|length| *length <= LONGEST)
        .ok_or_else(|| format!("`{request}` has no length, or one above {LONGEST}"))?;
    let mut body = Vec::new();
    reader
        .take(length)
        .read_to_end(&mut body)
        .map_err(|e| e.to_string())?;
    otlp::spans(&body).map_err(|e| format!("`{request}` of {length} bytes: {e}"))
}

/// Exporters of these peers wait for a fifth of a second.
const LIMIT: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(500);
/// No export of a few calls is nearly as long.
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn post(address: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut status = String::new();
        BufReader::new(stream)
            .read_line(&mut status)
            .expect("it answers");
        status
    }

    #[test]
    fn exports_are_taken_and_anything_else_is_refused() {
        let collector = Collector::start().expect("a port is free");
        let head = "content-type: application/x-protobuf\r\n";
        let good = format!("POST /v1/traces HTTP/1.1\r\n{head}content-length: 0\r\n\r\n");
        assert_eq!(post(&collector.address, &good), "HTTP/1.1 200 OK\r\n");
        let nothing = collector.gather(0).expect("it is an export");
        assert_eq!(nothing, []);
        for bad in [
            "GET / HTTP/1.1\r\n\r\n".to_owned(),
            good.replace("traces", "metrics"),
            good.replace("x-protobuf", "json"),
            good.replace("content-length: 0", "content-length: 2000000"),
            good.replace("content-length: 0", "transfer-encoding: chunked"),
            format!("{}\x0a", good.replace("length: 0", "length: 1")),
        ] {
            let status = post(&collector.address, &bad);
            assert_eq!(status, "HTTP/1.1 400 Bad Request\r\n", "{bad}");
            assert!(collector.gather(1).is_err(), "{bad}");
        }
    }
}
