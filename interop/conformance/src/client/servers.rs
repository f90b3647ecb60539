//! The servers that are called, and how.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use dubbo::{
    Instance,
    config::{
        Compression as Sent, CompressionConfig, ReferenceConfig, Serialization, TripleConfig,
        TripleDialect,
    },
};
use tokio::sync::Mutex;

use crate::{
    files::Files,
    suite::{
        ClientCompatRequest, Codec, Compression, ConformanceServiceClient, HttpVersion, Protocol,
    },
};

/// The clients of all servers, each made with the first call that needs it.
#[derive(Debug, Default)]
pub(super) struct Servers(Mutex<HashMap<Address, Server>>);

impl Servers {
    /// The client for `asked`.
    ///
    /// # Errors
    ///
    /// In words: what of it cannot be had.
    pub(super) async fn client(
        &self,
        asked: &ClientCompatRequest,
    ) -> Result<ConformanceServiceClient, String> {
        let options = Options::of(asked)?;
        let mut servers = self.0.lock().await;
        let address = Address::of(asked);
        if !servers.contains_key(&address) {
            let server = Server::new(asked).map_err(|error| error.to_string())?;
            servers.insert(address.clone(), server);
        }
        let server = servers
            .get_mut(&address)
            .expect("invariant: it has just been inserted");
        if let Some(client) = server.clients.get(&options) {
            return Ok(client.clone());
        }
        let reference = options.reference(asked);
        let client: ConformanceServiceClient = server
            .instance
            .refer_with(reference)
            .await
            .map_err(|error| error.to_string())?;
        server.clients.insert(options, client.clone());
        Ok(client)
    }
}

/// What makes a server another one: connections are shared by the calls that agree on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Address {
    host: String,
    port: u32,
    certificate: Bytes,
    own_certificate: Option<Bytes>,
}

impl Address {
    fn of(asked: &ClientCompatRequest) -> Self {
        Self {
            host: asked.host.clone(),
            port: asked.port,
            certificate: asked.server_tls_cert.clone(),
            own_certificate: asked.client_tls_creds.as_ref().map(|own| own.cert.clone()),
        }
    }
}

#[derive(Debug)]
struct Server {
    instance: Instance,
    clients: HashMap<Options, ConformanceServiceClient>,
    _files: Files,
}

impl Server {
    fn new(asked: &ClientCompatRequest) -> Result<Self, Box<dyn std::error::Error>> {
        let files = Files::new()?;
        let mut builder = Instance::builder().application("conformance-client");
        if !asked.server_tls_cert.is_empty() {
            let own = asked.client_tls_creds.as_ref();
            builder = builder.tls(files.tls(own, &asked.server_tls_cert)?);
        }
        Ok(Self {
            instance: builder.build()?,
            clients: HashMap::new(),
            _files: files,
        })
    }
}

/// How a server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Options {
    dialect: TripleDialect,
    version: &'static str,
    json: bool,
    compression: Option<Sent>,
    limit: u32,
}

impl Options {
    fn of(asked: &ClientCompatRequest) -> Result<Self, String> {
        let unsupported = |what: &str| Err(format!("{what} is not supported by this client"));
        if asked.use_get_http_method {
            return unsupported("GET");
        }
        Ok(Self {
            dialect: match asked.protocol() {
                Protocol::Connect => TripleDialect::Connect,
                Protocol::Grpc => TripleDialect::Grpc,
                Protocol::GrpcWeb => TripleDialect::GrpcWeb,
                other @ Protocol::Unspecified => return unsupported(other.as_str_name()),
            },
            version: match asked.http_version() {
                HttpVersion::HttpVersion1 => "1.1",
                HttpVersion::HttpVersion2 => "2",
                other => return unsupported(other.as_str_name()),
            },
            json: match asked.codec() {
                Codec::Proto => false,
                Codec::Json => true,
                other => return unsupported(other.as_str_name()),
            },
            compression: match asked.compression() {
                Compression::Unspecified | Compression::Identity => None,
                Compression::Gzip => Some(Sent::Gzip),
                Compression::Deflate => Some(Sent::Deflate),
                Compression::Zstd => Some(Sent::Zstd),
                other => return unsupported(other.as_str_name()),
            },
            limit: asked.message_receive_limit,
        })
    }

    /// Each call is one attempt without any time limit but its own.
    fn reference(self, asked: &ClientCompatRequest) -> ReferenceConfig {
        let serialization = if self.json {
            Serialization::Json
        } else {
            Serialization::Protobuf
        };
        let compression = CompressionConfig::new()
            .send(self.compression.into_iter().collect())
            .min_size(0);
        let mut reference = ReferenceConfig::new()
            .url([format!("tri://{}:{}", asked.host, asked.port)])
            .serialization(serialization)
            .triple(
                TripleConfig::new()
                    .compression(compression)
                    .dialect(self.dialect),
            )
            .param("triple.http-version", self.version)
            .cluster("failfast")
            .check(false)
            .timeout(Duration::ZERO);
        if self.limit > 0 {
            reference = reference.param("max-call-recv-msg-size", self.limit.to_string());
        }
        reference
    }
}
