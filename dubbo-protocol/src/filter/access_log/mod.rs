//! Who called what, when, and how it ended (`docs/spec/cluster.md` §6.3).

mod date;
mod line;
mod writer;

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    url::Key,
};
use tokio::time::Instant;

use self::{
    line::{Form, Line},
    writer::{Logs, Writer},
};
use super::{
    Calling,
    watch::{End, Watch},
};

/// Writes a line for each request when it is over. `accesslog=true` or `default` makes it an event of `tracing` at the level
/// `INFO`, with the target `dubbo::accesslog`; anything else is the path of a file, which needs `accesslog.allow-file=true`,
/// because a path may come from a rule. `accesslog.format=json` makes each line of a file an object, with the trace that its
/// call belongs to; an event says that in any case.
struct AccessLog(Option<Log>);

#[derive(Clone)]
enum Log {
    Events,
    File(Arc<Writer>, Form),
}

impl AccessLog {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        let value = cx.url.param("accesslog").unwrap_or_default();
        let is_fixed = cx.url.get(&FIXED_PATH)?;
        Ok(Self(match value {
            "" | "false" => None,
            "true" | "default" => Some(Log::Events),
            _ if is_fixed => Some(Log::Events),
            path => {
                if !cx.url.get(&ALLOW_FILE)? {
                    return Err(format!(
                        "`accesslog` is the path {path:?}, and files are not allowed: set `accesslog.allow-file` to `true` \
                         among the parameters, or `accesslog` to `true` for events"
                    )
                    .into());
                }
                let form = match cx.url.param(FORMAT).unwrap_or(TEXT) {
                    TEXT => Form::Text,
                    "json" => Form::Json,
                    other => {
                        return Err(format!(
                            "`{FORMAT}` is `{other}`, but `text` or `json` is needed"
                        )
                        .into());
                    }
                };
                let logs = cx.shared::<Logs>();
                Some(Log::File(logs.writer(PathBuf::from(path))?, form))
            }
        }))
    }
}

impl Log {
    async fn call(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let form = match self {
            Self::Events => Form::Event,
            Self::File(_, form) => *form,
        };
        let line = Line::begin(&invocation, SystemTime::now(), form);
        let (began, log) = (Instant::now(), self.clone());
        let watch = Watch::new(move |end: End<'_>| {
            let line = line.ended(&end, began.elapsed());
            match log {
                Self::Events => line.tell(),
                Self::File(writer, _) => writer.write(line),
            }
        });
        watch.settle(next.run(invocation).await)
    }
}

impl Filter for AccessLog {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        match &self.0 {
            Some(log) => Box::pin(log.call(invocation, next)),
            None => next.run(invocation),
        }
    }
}

extension!(dyn Filter, "accesslog", |cx| Ok(Arc::new(AccessLog::read(
    cx
)?)));

const ALLOW_FILE: Key<bool> = Key {
    name: "accesslog.allow-file",
    default: || false,
};

const FORMAT: &str = "accesslog.format";
const TEXT: &str = "text";

/// Dubbo Java's: the path is that of its logging library.
const FIXED_PATH: Key<bool> = Key {
    name: "accesslog.fixed.path",
    default: || false,
};

#[cfg(test)]
mod tests;
