//! What was asked by hand, to see what another server makes of it, against ours: byte for byte, each over a connection of
//! its own. No client of ours would ask so, and a row of the table has the server's side alone.

mod http1;
mod http2;
mod questions;

use std::{net::SocketAddr, time::Duration};

use dubbo::config::{CorsConfig, OpenApiConfig, TripleConfig};
use dubbo_test::soon;

use self::questions::{How, questions};
use crate::{
    reading,
    record::{Half, Recording, served},
    server_side::serve_with,
    sheet::Sheet,
    table::{Findings, Side, TRIPLE},
};

/// Whether the recording of this name is of what was asked by hand.
pub(crate) fn is(name: &str) -> bool {
    let mut all = RECORDINGS.iter();
    all.any(|(recording, _)| recording.name == name)
}

#[tokio::test]
async fn what_was_asked_by_hand_is_answered_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Server);
    for (recording, extra) in RECORDINGS {
        let (instance, address) = serve_with(false, extra.settings()).await;
        for question in questions(recording) {
            let ours = Box::pin(soon(&question.label, ask(address, &question.how))).await;
            let [recorded, ours] =
                [&question.answer, &ours].map(|answer| answer.sheet(&question.path));
            let differences = Sheet::differences(&recorded, &ours);
            findings.add(recording.name, &question.label, differences);
        }
        instance.shutdown(Duration::ZERO).await;
    }
    findings.hold_against(TRIPLE, |key| is(&key.file));
}

/// What is replayed, and what its provider had switched on.
const RECORDINGS: [(Recording, Extra); 6] = [
    (served("go/triple-probe"), Extra::Nothing),
    (served("go/triple-cors"), Extra::Cors),
    (served("go/triple-openapi"), Extra::OpenApi),
    (served("java/triple-openapi-off"), Extra::Nothing),
    (served("java/triple-rest-h1"), Extra::OpenApi),
    (served("java/triple-rest-h2"), Extra::OpenApi),
];

#[derive(Debug, Clone, Copy)]
enum Extra {
    Cors,
    Nothing,
    OpenApi,
}

impl Extra {
    fn settings(self) -> TripleConfig {
        let none = TripleConfig::new();
        match self {
            Self::Cors => none.cors(CorsConfig::new().allow_origins(["https://*.example.com"])),
            Self::Nothing => none,
            Self::OpenApi => none.openapi(OpenApiConfig::new().enabled(true)),
        }
    }
}

async fn ask(address: SocketAddr, how: &How) -> Answer {
    match how {
        How::Http1(bytes) => http1::ask(address, bytes).await,
        How::Http2(stream) => http2::ask(address, stream).await,
    }
}

/// All that came back.
#[derive(Debug, Default)]
struct Answer {
    half: Half,
    /// What a connection says beside it.
    beside: Vec<(&'static str, String)>,
}

impl Answer {
    fn sheet(&self, path: &str) -> Sheet {
        let mut sheet = reading::answer(path, &self.half);
        for (name, value) in &self.beside {
            sheet.put(*name, value);
        }
        sheet
    }
}
