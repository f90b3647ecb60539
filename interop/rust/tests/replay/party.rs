//! The recorded connections: what each side did on them beside its calls.

use serde::Deserialize;

use crate::{record::unhex, sheet::Sheet};

/// One connection.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Connection {
    #[serde(rename = "conn")]
    pub(crate) number: u32,
    pub(crate) client: Party,
    pub(crate) server: Party,
}

/// What one side did on a connection beside its calls.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Party {
    pub(crate) settings: Vec<Vec<(String, u32)>>,
    pub(crate) settings_acks: usize,
    pub(crate) conn_window_updates: Vec<u32>,
    pub(crate) pings: Option<Vec<Ping>>,
    pub(crate) goaway: Option<Vec<GoAway>>,
    pub(crate) closed: String,
}

/// A PING or the answer to one.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Ping {
    pub(crate) ack: bool,
    pub(crate) data: String,
    /// Since the connection began.
    pub(crate) t_ms: u64,
}

/// A GOAWAY.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct GoAway {
    pub(crate) code: String,
}

impl Party {
    pub(crate) fn own_pings(&self) -> impl Iterator<Item = &Ping> {
        self.pings.iter().flatten().filter(|ping| !ping.ack)
    }

    pub(crate) fn sheet(&self) -> Sheet {
        let pongs = self.pings.iter().flatten().filter(|ping| ping.ack);
        let push = self
            .settings
            .iter()
            .flatten()
            .find(|(name, _)| name == "ENABLE_PUSH");
        let mut sheet = Sheet::default();
        sheet.put("settings", self.settings.len());
        sheet.put("settings acknowledged", self.settings_acks);
        sheet.put("push", format!("{:?}", push.map(|(_, value)| value)));
        sheet.put_all(
            "ping acknowledged",
            pongs.map(|p| format!("{:02x?}", unhex(&p.data))),
        );
        sheet.put_all("ping after second", self.own_pings().map(Ping::seconds));
        sheet.put_all(
            "goaway",
            self.goaway.iter().flatten().map(|goaway| &goaway.code),
        );
        sheet.put("closed", &self.closed);
        sheet
    }
}

impl Ping {
    pub(crate) fn payload(&self) -> [u8; 8] {
        unhex(&self.data).try_into().expect("eight bytes")
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.t_ms / 1000
    }
}
