//! What applies where nothing is set (`docs/spec/config.md` §1). A field of the model that is `None` means the value here.

use std::time::Duration;

/// `application.name`.
pub const APPLICATION_NAME: &str = "dubbo.io";

/// `consumer.check`, and a reference's own `check`: wait for a provider, and fail when none comes.
pub const CHECK: bool = true;

/// `config-center.timeout`.
pub const CONFIG_CENTER_TIMEOUT: Duration = Duration::from_secs(10);

/// `triple.keep-alive-interval`.
pub const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// `triple.keep-alive-timeout`.
pub const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// `logger.file.name`.
pub const LOG_FILE: &str = "dubbo.log";

/// `logger.file.max-age`, in days.
pub const LOG_FILE_MAX_AGE: u32 = 3;

/// `logger.file.max-backups`.
pub const LOG_FILE_MAX_BACKUPS: u32 = 5;

/// `logger.file.max-size`, in MiB.
pub const LOG_FILE_MAX_SIZE: u32 = 100;

/// `triple.max-server-recv-msg-size`, in bytes: 4 MiB.
pub const MAX_SERVER_RECV_MSG_SIZE: u64 = 4 << 20;

/// `triple.max-server-send-msg-size`, in bytes: 2 GiB less one.
pub const MAX_SERVER_SEND_MSG_SIZE: u64 = (2 << 30) - 1;

/// `consumer.max-wait-time-for-service-discovery`.
pub const MAX_WAIT_TIME_FOR_SERVICE_DISCOVERY: Duration = Duration::from_secs(3);

/// `metadata.cache.size`, in bytes: 64 MiB.
pub const METADATA_CACHE_SIZE: u64 = 64 << 20;

/// `metadata.rate-limit`: requests a second for metadata from one peer.
pub const METADATA_RATE_LIMIT: u32 = 200;

/// `protocols.<id>.port` of the protocol `dubbo`.
pub const PORT_DUBBO: u16 = 20_880;

/// `protocols.<id>.port` of every other protocol.
pub const PORT_TRIPLE: u16 = 50_051;

/// `protocols.<id>.name`, `consumer.protocol` and a reference's `protocol`.
pub const PROTOCOL: &str = "tri";

/// `application.qos-port`, `metrics.probe.port`.
pub const QOS_PORT: u16 = 22_222;

/// `registries.<id>.timeout`.
pub const REGISTRY_TIMEOUT: Duration = Duration::from_secs(5);

/// `consumer.request-timeout`, and with it the timeout of every call that nothing else bounds.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// `shutdown.consumer-update-wait-time`.
pub const SHUTDOWN_CONSUMER_UPDATE_WAIT_TIME: Duration = Duration::from_secs(3);

/// `shutdown.notify-timeout`.
pub const SHUTDOWN_NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// `shutdown.offline-request-window-timeout`.
pub const SHUTDOWN_OFFLINE_REQUEST_WINDOW_TIMEOUT: Duration = Duration::from_secs(3);

/// `shutdown.step-timeout`.
pub const SHUTDOWN_STEP_TIMEOUT: Duration = Duration::from_secs(3);

/// `shutdown.timeout`.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);

/// `provider.services.<name>.warmup`.
pub const WARMUP: Duration = Duration::from_mins(10);

/// `provider.services.<name>.weight`.
pub const WEIGHT: u32 = 100;
