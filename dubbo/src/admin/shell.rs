//! Commands in lines of a telnet.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::invocation::Peer;
use dubbo_protocol::qos::{Said, Shell};

use super::{
    Shared,
    command::{Asked, Command, Dialect},
    words::words,
};
use crate::instance::RELEASE;

/// Answers operators who type.
pub(super) struct Terminal(pub(super) Arc<Shared>);

#[async_trait]
impl Shell for Terminal {
    fn welcome(&self, peer: &Peer) -> Result<String, String> {
        self.0.access.caller(peer, None)?;
        let application = self.0.instance().map(|instance| instance.application());
        let application = application.unwrap_or_default();
        Ok(format!(
            "{RELEASE}: {application}\n`help` lists the commands, `quit` hangs up."
        ))
    }

    async fn answer(&self, peer: &Peer, line: &str) -> Said {
        let words = words(line);
        let Some((name, arguments)) = words.split_first() else {
            return Said::Text(String::new());
        };
        let caller = match self.0.access.caller(peer, None) {
            Ok(caller) => caller,
            Err(refusal) => return Said::Bye(refusal),
        };
        let command = match Command::named(name) {
            Ok(command) => command,
            Err(failure) => return Said::Text(failure.text().to_owned()),
        };
        let asked = Asked {
            shared: &self.0,
            caller,
            dialect: Dialect::Telnet,
            arguments,
        };
        match command.run(asked).await {
            Ok(text) if command.is_quit() => Said::Bye(text),
            Ok(text) => Said::Text(text),
            Err(failure) => Said::Text(failure.text().to_owned()),
        }
    }
}
