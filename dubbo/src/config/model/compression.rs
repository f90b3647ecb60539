use dubbo_core::{
    service::ServiceDescriptor,
    url::Url,
    yaml::{ProblemKind, Section},
};
use dubbo_protocol::Compression;

use super::settings;

settings! {
    /// `triple.compression`, of a protocol and of a reference's `protocol_config`: which messages are sent compressed
    /// (`docs/spec/triple.md` §8). Read are gzip, deflate and zstd in any case.
    pub struct CompressionConfig {
        /// `send`, by default nothing. Of a protocol: what answers are compressed with, the best first; each caller gets the
        /// first that it takes. Of a reference: the one compression of its requests.
        send: Option<Vec<Compression>>,
        /// `min-size`, in bytes, by default 1 KiB: shorter messages are sent as they are.
        min_size: Option<u64>,
    }
}

impl CompressionConfig {
    /// Reads what a server can say.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            send: read_send(s),
            min_size: s.size("min-size"),
        }
    }

    /// Reads what a client can say.
    pub(super) fn read_client(s: &mut Section<'_, '_>) -> Self {
        let config = Self::read(s);
        if config.send.as_ref().is_some_and(|send| send.len() > 1) {
            let message = "a reference sends one compression: nobody has told it which of several its providers take";
            s.error("send", ProblemKind::Conflict, message);
        }
        config
    }

    /// What a server says, as parameters of a URL. It is nobody's business but the server's.
    pub(crate) fn server_params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        self.params([".compression.send", ".compression.min-size"])
    }

    /// What a reference says, as parameters of a URL.
    pub(crate) fn client_params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        self.params([SEND, "compression.min-size"])
    }

    fn params(
        &self,
        keys: [&'static str; 2],
    ) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let names = self.send.as_ref().map(|send| {
            let names: Vec<_> = send.iter().map(|one| one.name()).collect();
            names.join(",")
        });
        let min_size = self.min_size.map(|bytes| bytes.to_string());
        let params = keys.into_iter().zip([names, min_size]);
        params.filter_map(|(key, value)| Some((key, value?)))
    }
}

/// What is wrong with what `consumer` says about the requests for `descriptor`, if anything is.
pub(crate) fn misfit(consumer: &Url, descriptor: &ServiceDescriptor) -> Option<String> {
    let send = consumer.param(SEND).filter(|send| !send.is_empty())?;
    descriptor.is_java().then(|| {
        format!(
            "`{SEND}` is `{send}`, but `{}` is a Java interface: Dubbo Java's providers cannot read compressed arguments; \
             leave it out (answers may be compressed in any case)",
            descriptor.interface()
        )
    })
}

fn read_send(s: &mut Section<'_, '_>) -> Option<Vec<Compression>> {
    let mut send = Vec::new();
    for name in s.list("send")? {
        match name.parse::<Compression>() {
            Ok(compression) if send.contains(&compression) => {}
            Ok(compression) => send.push(compression),
            Err(error) => s.error("send", ProblemKind::UnknownName, error.to_string()),
        }
    }
    Some(send)
}

/// The parameter of a reference, in its `params` or from here.
const SEND: &str = "compression.send";

#[cfg(test)]
mod tests {
    use super::*;
    use Compression::{Gzip, Zstd};

    fn texts(params: impl Iterator<Item = (&'static str, String)>) -> Vec<String> {
        params
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }

    #[test]
    fn what_is_set_becomes_parameters() {
        let config = CompressionConfig::new()
            .send(vec![Zstd, Gzip])
            .min_size(2_000);
        let server = [".compression.send=zstd,gzip", ".compression.min-size=2000"];
        assert_eq!(texts(config.server_params()), server);
        let client = CompressionConfig::new().send(vec![Gzip]);
        assert_eq!(texts(client.client_params()), ["compression.send=gzip"]);
        let nothing = CompressionConfig::new();
        assert_eq!(texts(nothing.server_params()), [""; 0]);
        // Switched off, where something weaker switches it on.
        let off = CompressionConfig::new().send(Vec::new());
        assert_eq!(texts(off.client_params()), ["compression.send="]);
    }
}
