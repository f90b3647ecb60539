//! Ports on real sockets: who gets which connection, with and without TLS.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use dubbo_test::{
    certificates::{self, Authority, Issued},
    soon,
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::Instant,
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::Field,
    span::{Attributes, Id, Record},
};

use super::*;

const HTTP: &[Dialect] = &[Dialect::Http1, Dialect::Http2];
const DUBBO: &[Dialect] = &[Dialect::Dubbo];

const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEARTBEAT: &[u8] = b"\xda\xbb\xe2\0\0\0\0\0\0\0\0\x01\0\0\0\x01N";

/// A share in a port, and the connections that come by it.
struct Served {
    listening: Listening,
    arrivals: mpsc::UnboundedReceiver<Accepted>,
}

impl Served {
    async fn on(
        network: &Network,
        port: u16,
        dialects: &'static [Dialect],
    ) -> Result<Self, ProtocolError> {
        let (taken, arrivals) = mpsc::unbounded_channel();
        let take = move |accepted| {
            // Nobody waits for those that come to a test that has ended.
            let _ = taken.send(accepted);
        };
        let listening = network.listen("127.0.0.1", port, dialects, take).await?;
        Ok(Self {
            listening,
            arrivals,
        })
    }

    fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// The next connection: what it speaks, and all that it says until its end.
    async fn next(&mut self) -> (Dialect, Vec<u8>) {
        let mut accepted = soon("a connection", self.arrivals.recv())
            .await
            .expect("it listens");
        let mut said = Vec::new();
        let end = accepted.stream.read_to_end(&mut said);
        soon("the end", end).await.expect("no reset");
        (accepted.dialect, said)
    }
}

/// Says `bytes` and no more.
async fn say(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    socket.write_all(bytes).await.expect("it is open");
    socket.shutdown().await.expect("it is open");
    socket
}

/// Waits until the other side has closed `socket`, and reads nothing before that.
async fn closed(mut socket: TcpStream) {
    let mut heard = Vec::new();
    // With a reset, if it had something left to read.
    let _ = soon("the end", socket.read_to_end(&mut heard)).await;
    assert_eq!(heard, b"");
}

fn files(ca: Option<PathBuf>, own: Option<Issued>) -> TlsFiles {
    let mut files = TlsFiles::none();
    files.ca_cert = ca;
    (files.cert, files.key) = own.map(|own| (own.cert, own.key)).unzip();
    files
}

fn with_tls(files: TlsFiles) -> Network {
    Network {
        ports: Arc::default(),
        tls: Arc::new(files),
    }
}

fn reason<T>(result: Result<T, ProtocolError>) -> String {
    result.err().expect("it is refused").to_string()
}

#[tokio::test]
async fn the_first_bytes_decide_who_on_a_port_gets_a_connection() {
    let network = Network::default();
    let mut http = Served::on(&network, 0, HTTP).await.expect("free");
    let address = http.address();
    let mut dubbo = Served::on(&network, address.port(), DUBBO)
        .await
        .expect("shared");
    assert_eq!(dubbo.address(), address);

    for noise in [
        &b"help\r\n"[..],
        b"\x16\x03\x01\0\x05hello",
        b"\0",
        b"",
        b"\xda",
    ] {
        closed(say(address, noise).await).await;
        let _dubbo = say(address, HEARTBEAT).await;
        assert_eq!(dubbo.next().await, (Dialect::Dubbo, HEARTBEAT.to_vec()));
        let _http1 = say(address, b"GET / HTTP/1.1\r\n\r\n").await;
        let http1 = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        assert_eq!(http.next().await, (Dialect::Http1, http1));
        let _http2 = say(address, HTTP2_PREFACE).await;
        assert_eq!(http.next().await, (Dialect::Http2, HTTP2_PREFACE.to_vec()));
    }
}

#[tokio::test]
async fn who_leaves_a_port_is_sent_nothing_more_and_the_last_closes_it() {
    let network = Network::default();
    let http = Served::on(&network, 0, HTTP).await.expect("free");
    let address = http.address();
    let mut dubbo = Served::on(&network, address.port(), DUBBO)
        .await
        .expect("shared");

    http.listening.close().await;
    closed(say(address, HTTP2_PREFACE).await).await;
    let _socket = say(address, HEARTBEAT).await;
    assert_eq!(dubbo.next().await.0, Dialect::Dubbo);

    // It may come again while the port is open, and after.
    let http = Served::on(&network, address.port(), HTTP)
        .await
        .expect("free again");
    drop(http.listening);
    let undecided = TcpStream::connect(address).await.expect("it listens");
    dubbo.listening.close().await;
    closed(undecided).await;
    let other = TcpListener::bind(address).await.expect("the port is free");
    let taken = Served::on(&network, address.port(), HTTP).await;
    let text = reason(taken);
    assert!(text.contains("cannot listen on 127.0.0.1:"), "{text}");
    assert!(
        text.contains("; something else listens there: set another `port`"),
        "{text}"
    );
    drop(other);
    let mut http = Served::on(&network, address.port(), HTTP)
        .await
        .expect("free again");
    let _socket = say(address, HTTP2_PREFACE).await;
    assert_eq!(http.next().await.0, Dialect::Http2);
}

#[tokio::test]
async fn a_dropped_share_frees_the_port_for_the_next_one() {
    let network = Network::default();
    let mut port = 0;
    for _ in 0..20 {
        let mut http = Served::on(&network, port, HTTP).await.expect("free");
        port = http.address().port();
        let _socket = say(http.address(), HTTP2_PREFACE).await;
        assert_eq!(http.next().await.0, Dialect::Http2);
    }
}

#[tokio::test]
async fn connections_that_say_nothing_are_kept_in_numbers() {
    let network = Network::default();
    let mut dubbo = Served::on(&network, 0, DUBBO).await.expect("free");
    let address = dubbo.address();
    dubbo.listening.limit(|| 2);
    // Those of another share take the room that there is.
    let http = Served::on(&network, address.port(), HTTP)
        .await
        .expect("shared");
    http.listening.limit(|| 5);
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(address).await.expect("it listens"));
    }
    for oldest in silent.drain(..2) {
        closed(oldest).await;
    }
    for mut socket in silent {
        socket.write_all(HEARTBEAT).await.expect("it is open");
        socket.shutdown().await.expect("it is open");
        assert_eq!(dubbo.next().await, (Dialect::Dubbo, HEARTBEAT.to_vec()));
    }
}

#[tokio::test]
async fn a_port_is_shared_by_different_dialects_with_the_same_settings_only() {
    let authority = Authority::new();
    let network = Network::default();
    let http = Served::on(&network, 0, HTTP).await.expect("free");
    let port = http.address().port();
    let text = reason(Served::on(&network, port, HTTP).await);
    for part in [
        "another entry of `protocols` serves HTTP/1 there",
        "entries of different protocols, such as `tri` and `dubbo`, can share a port",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }

    let secure = Network {
        tls: Arc::new(files(None, Some(authority.issue(&["h"])))),
        ..network.clone()
    };
    let text = reason(Served::on(&secure, port, DUBBO).await);
    assert!(text.contains("other TLS settings"), "{text}");
    let other = Served::on(&Network::default(), port, DUBBO).await;
    assert!(reason(other).contains("cannot listen"), "another instance");
    let free = Served::on(&network, 0, DUBBO).await.expect("free");
    assert_ne!(free.address().port(), port, "0 is a port of its own");
}

#[tokio::test]
async fn all_dialects_are_spoken_within_tls() {
    let authority = Authority::new();
    let own = Some(authority.issue(&["localhost", "127.0.0.1"]));
    let network = with_tls(files(Some(authority.file()), own));
    let mut http = Served::on(&network, 0, HTTP).await.expect("free");
    let mut dubbo = Served::on(&network, http.address().port(), DUBBO)
        .await
        .expect("shared");
    let address = format!("localhost:{}", http.address().port());
    // Java negotiates no dialect, and speaks HTTP/2 all the same.
    for (negotiated, said, spoken) in [
        (Dialect::Http2, HTTP2_PREFACE, Dialect::Http2),
        (Dialect::Dubbo, HTTP2_PREFACE, Dialect::Http2),
        (Dialect::Dubbo, HEARTBEAT, Dialect::Dubbo),
    ] {
        let dialer = network.dialer(negotiated);
        assert!(dialer.prepare().expect("good files"));
        let mut stream = dialer.connect(&address).await.expect("it listens");
        assert!(stream.is_secure());
        let Stream::Tls(tls) = &stream else {
            panic!("it is not: {stream:?}");
        };
        let alpn = (negotiated == Dialect::Http2).then_some(&b"h2"[..]);
        assert_eq!(tls.get_ref().1.alpn_protocol(), alpn);
        stream.write_all(said).await.expect("open");
        stream.shutdown().await.expect("open");
        let served = if spoken == Dialect::Dubbo {
            &mut dubbo
        } else {
            &mut http
        };
        assert_eq!(served.next().await, (spoken, said.to_vec()));
    }
}

#[tokio::test]
async fn the_end_of_the_bytes_is_the_end_within_tls_too() {
    let authority = Authority::new();
    let own = Some(authority.issue(&["127.0.0.1"]));
    let network = with_tls(files(Some(authority.file()), own));
    let mut dubbo = Served::on(&network, 0, DUBBO).await.expect("free");
    let dialer = network.dialer(Dialect::Dubbo);
    let address = dubbo.address().to_string();
    let mut stream = dialer.connect(&address).await.expect("it listens");
    stream.write_all(HEARTBEAT).await.expect("open");
    stream.flush().await.expect("open");
    // Without a word of TLS.
    drop(stream);
    assert_eq!(dubbo.next().await, (Dialect::Dubbo, HEARTBEAT.to_vec()));
}

#[tokio::test(start_paused = true)]
async fn peers_that_never_get_done_hold_up_nobody_and_are_given_up_on() {
    let authority = Authority::new();
    let own = Some(authority.issue(&["127.0.0.1"]));
    let plain = Network::default();
    let secure = with_tls(files(Some(authority.file()), own));
    for (network, dialects, said, want) in [
        (&plain, HTTP, &b"PRI *"[..], 10),
        (&plain, HTTP, b"", 10),
        // A consumer without calls has nothing to say for long.
        (&plain, DUBBO, b"", 180),
        (&plain, DUBBO, b"\xda", 10),
        (&secure, HTTP, b"", 10),
        (&secure, HTTP, b"\x16\x03\x01", 10),
        (&secure, DUBBO, b"", 180),
        (&secure, DUBBO, b"\x16\x03\x01", 10),
    ] {
        let mut served = Served::on(network, 0, dialects).await.expect("free");
        let address = served.address();
        let mut slow = TcpStream::connect(address).await.expect("it listens");
        slow.write_all(said).await.expect("it is open");
        let start = Instant::now();

        let dialer = network.dialer(dialects[dialects.len() - 1]);
        let mut quick = dialer
            .connect(&address.to_string())
            .await
            .expect("it listens");
        let first = if dialects == DUBBO {
            HEARTBEAT
        } else {
            HTTP2_PREFACE
        };
        quick.write_all(first).await.expect("it is open");
        quick.shutdown().await.expect("it is open");
        assert_eq!(served.next().await.1, first);
        assert!(start.elapsed().as_secs() < want, "{said:?}");

        let mut heard = Vec::new();
        let _ = slow.read_to_end(&mut heard).await;
        assert_eq!(start.elapsed().as_secs(), want, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_serves_a_port_says_how_long_peers_may_take() {
    let authority = Authority::new();
    let own = Some(authority.issue(&["127.0.0.1"]));
    let plain = Network::default();
    let secure = with_tls(files(None, own));
    for (network, said) in [
        (&plain, &b"PRI *"[..]),
        (&plain, b""),
        (&secure, b""),
        (&secure, b"\x16\x03\x01"),
    ] {
        for (of_dubbo, want) in [(None, 3), (Some(7), 7)] {
            let served = Served::on(network, 0, HTTP).await.expect("free");
            served.listening.hear_within(Duration::from_secs(3));
            let mut shared = None;
            if let Some(patience) = of_dubbo {
                let port = served.address().port();
                let joined = Served::on(network, port, DUBBO).await.expect("shared");
                joined.listening.hear_within(Duration::from_secs(patience));
                shared = Some(joined);
            }
            let start = Instant::now();
            let mut slow = TcpStream::connect(served.address())
                .await
                .expect("it listens");
            slow.write_all(said).await.expect("it is open");
            let mut heard = Vec::new();
            let _ = slow.read_to_end(&mut heard).await;
            // One that may speak dubbo need not say so for three minutes.
            let silent = said.is_empty() && shared.is_some();
            let want = if silent { 180 } else { want };
            assert_eq!(start.elapsed().as_secs(), want, "{said:?} {of_dubbo:?}");
        }
    }
}

#[tokio::test]
async fn keys_are_read_in_each_of_their_forms() {
    let authority = Authority::new();
    let issued = authority.issue(&["127.0.0.1"]);
    let pkcs8 = issued.clone();
    let der = std::fs::read_to_string(&issued.key).expect("it is there");
    let sec1 = Issued {
        key: issued.key.with_extension("sec1"),
        ..issued
    };
    // PKCS#8 ends with what SEC 1 says of a key on that curve.
    let der = der_of(&der);
    certificates::write(&sec1.key, "EC PRIVATE KEY", &der[der.len() - 109..]);
    let testdata = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"));
    let pkcs1 = Issued {
        cert: testdata.join("rsa.pem"),
        key: testdata.join("rsa.key"),
    };
    for own in [pkcs8, sec1, pkcs1] {
        let own = files(None, Some(own));
        let served = Served::on(&with_tls(own.clone()), 0, HTTP).await;
        served
            .map_err(|error| format!("{own:?}: {error}"))
            .expect("a good key");
    }
}

#[tokio::test]
async fn what_is_no_use_in_a_file_is_told() {
    let authority = Authority::new();
    let issued = authority.issue(&["127.0.0.1"]);
    let beside = |name: &str| issued.cert.with_extension(name);
    certificates::write(&beside("locked"), "ENCRYPTED PRIVATE KEY", b"?");
    certificates::write(&beside("odd"), "CERTIFICATE", b"not a certificate");
    certificates::write(&beside("odd-key"), "PRIVATE KEY", b"not a key");
    // The version is a number from 0 in the only field of its tag.
    let mut old = der_of(&std::fs::read_to_string(&issued.cert).expect("it is there"));
    let version = old.windows(5).position(|at| at == b"\xa0\x03\x02\x01\x02");
    old[version.expect("version 3") + 4] = 0;
    certificates::write(&beside("old"), "CERTIFICATE", &old);
    std::fs::write(beside("cut"), "-----BEGIN CERTIFICATE-----\nAAAA\n").expect("room");
    std::fs::write(beside("large"), vec![b'\n'; 2 << 20]).expect("room");
    let own = |cert: PathBuf, key: PathBuf| files(None, Some(Issued { cert, key }));
    let (cert, key) = (issued.cert.clone(), issued.key.clone());
    for (files, want) in [
        (
            own(cert.clone(), beside("locked")),
            "tls-key-file: {}: the private key in it is encrypted",
        ),
        (own(cert, beside("odd-key")), "tls-key-file: {}: "),
        (
            own(beside("cut"), key.clone()),
            "tls-cert-file: {}: it is not PEM",
        ),
        (
            own(beside("large"), key.clone()),
            "tls-cert-file: {}: it is larger than",
        ),
        (
            own(beside("old"), key.clone()),
            "tls-cert-file: {}: it is of X.509 version 1",
        ),
        (own(beside("odd"), key), "tls-cert-file: {}: BadEncoding"),
        (
            files(Some(beside("odd")), Some(issued.clone())),
            "ca-cert-file: {}: a certificate in it",
        ),
    ] {
        let text = reason(Served::on(&with_tls(files.clone()), 0, HTTP).await);
        let (key, about) = want.split_once("{}").expect("a place for the file");
        assert!(
            text.starts_with(&format!("dubbo.tls_config.{key}")),
            "{want}: {text}"
        );
        assert!(text.contains(about), "{want}: {text}");
    }
    let mut client = files(Some(authority.file()), None);
    client.server_name = Some("no name!".to_owned());
    let text = reason(with_tls(client).dialer(Dialect::Http2).prepare());
    assert_eq!(
        text,
        "dubbo.tls_config.tls-server-name: `no name!` is neither a DNS name nor an IP address"
    );
}

#[tokio::test]
async fn a_file_that_comes_later_is_read_then() {
    let authority = Authority::new();
    let late = authority.file().with_extension("late");
    let dialer = with_tls(files(Some(late.clone()), None)).dialer(Dialect::Http2);
    let error = dialer.connect("127.0.0.1:1").await.expect_err("no file");
    assert_ne!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    assert!(reason(dialer.prepare()).contains("ca-cert-file"));
    std::fs::copy(authority.file(), late).expect("room");
    assert!(dialer.prepare().expect("it is there"));
}

#[tokio::test]
async fn it_is_told_once_in_a_while_that_peers_speak_what_a_port_does_not_serve() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    for (dialects, said, spoken, served) in [
        (DUBBO, HTTP2_PREFACE, "HTTP/2", "dubbo"),
        (HTTP, HEARTBEAT, "dubbo", "HTTP/1, HTTP/2"),
    ] {
        let on = Served::on(&Network::default(), 0, dialects)
            .await
            .expect("free");
        for _ in 0..3 {
            closed(say(on.address(), said).await).await;
        }
        let told = std::mem::take(&mut *warnings.0.lock());
        let [told] = &told[..] else {
            panic!("one for all of them: {told:?}");
        };
        let port = format!("port={} ", on.address().port());
        let spoken = format!("spoken={spoken} served=\"{served}\"");
        for part in ["is not served on this port", &port, &spoken] {
            assert!(told.contains(part), "{part} in {told}");
        }
    }
}

/// Keeps the warnings of this thread.
#[derive(Debug, Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Vec::new();
        event.record(&mut |field: &Field, value: &dyn fmt::Debug| {
            fields.push(format!("{field}={value:?} "));
        });
        self.0.lock().push(fields.concat());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn der_of(pem: &str) -> Vec<u8> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    STANDARD.decode(lines.collect::<String>()).expect("base64")
}
