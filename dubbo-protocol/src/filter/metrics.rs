use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    extension,
    filter::{ClusterFilter, Filter, Next},
    invocation::{Invocation, RpcResult},
    payload::CodecError,
    status::{Code, Origin, Status},
    url::Url,
};
use metrics::{Counter, Gauge, Histogram, Label, counter, gauge, histogram};
use tokio::time::Instant;

use super::{
    is_provider,
    methods::ByMethod,
    watch::{End, Watch},
};

/// The machine that numbers are of, for their labels `hostname` and `ip`. Nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub hostname: String,
    /// The address that others reach it at.
    pub ip: String,
}

/// What is counted of calls, under dubbo-go's names (`docs/spec/config.md` §5.2): `dubbo_provider_requests_*`,
/// `dubbo_consumer_requests_*` once per call, and `dubbo_consumer_attempts_*` once per attempt. Windows, sums and
/// percentiles are for whoever exports them: what a call took goes into a histogram.
///
/// What counts is found with the first call of a service, so whoever exports must be there before.
struct Metrics {
    what: &'static str,
    labels: Vec<Label>,
    series: ByMethod<Arc<Series>>,
}

#[derive(Debug)]
struct Series {
    total: Counter,
    processing: Gauge,
    succeed: Counter,
    failed: Counter,
    timeout: Counter,
    limit: Counter,
    unavailable: Counter,
    business: Counter,
    network: Counter,
    codec: Counter,
    unknown: Counter,
    took: Histogram,
}

impl Metrics {
    fn of(what: &'static str, url: &Url, machine: &Machine) -> Self {
        let service = url.service_key();
        let param = |key| url.param(key).unwrap_or_default().to_owned();
        Self {
            what,
            labels: vec![
                Label::new("application_name", param("application")),
                Label::new("application_version", param("app.version")),
                Label::new("hostname", machine.hostname.clone()),
                Label::new("ip", machine.ip.clone()),
                Label::new("interface", service.interface().to_owned()),
                Label::new("group", service.group().unwrap_or_default().to_owned()),
                Label::new("version", service.version().unwrap_or_default().to_owned()),
            ],
            series: ByMethod::new(),
        }
    }

    fn series(&self, method: &str) -> Series {
        let mut labels = self.labels.clone();
        labels.push(Label::new("method", method.to_owned()));
        let count = |of: &str| counter!(format!("dubbo_{}s_{of}", self.what), labels.iter());
        Series {
            total: count("total"),
            processing: gauge!(
                format!("dubbo_{}s_processing_total", self.what),
                labels.iter()
            ),
            succeed: count("succeed_total"),
            failed: count("failed_total"),
            timeout: count("timeout_total"),
            limit: count("limit_total"),
            unavailable: count("failed_service_unavailable_total"),
            business: count("business_failed_total"),
            network: count("failed_network_total"),
            codec: count("failed_codec_total"),
            unknown: count("unknown_failed_total"),
            took: histogram!(
                format!(
                    "dubbo_{}_rt_milliseconds",
                    self.what.trim_end_matches("_request")
                ),
                labels.iter()
            ),
        }
    }
}

impl Series {
    fn ended(&self, end: &End<'_>, began: Instant) {
        self.processing.decrement(1.0);
        self.total.increment(1);
        self.took.record(began.elapsed().as_secs_f64() * 1e3);
        if let End::Done = end {
            self.succeed.increment(1);
            return;
        }
        self.failed.increment(1);
        let kind = match end {
            End::Failed(status) => self.kind(status),
            End::Done | End::GivenUp => &self.unknown,
        };
        kind.increment(1);
    }

    /// What a failure counts as besides: one of these, so that they add up to all failures.
    fn kind(&self, status: &Status) -> &Counter {
        match status.code() {
            _ if status.origin() == Origin::Business => &self.business,
            Code::Business => &self.business,
            Code::DeadlineExceeded => &self.timeout,
            Code::ResourceExhausted => &self.limit,
            _ if status.origin() == Origin::Transport => &self.network,
            _ if status.source().is_some_and(<dyn Error>::is::<CodecError>) => &self.codec,
            Code::Unavailable | Code::PermissionDenied => &self.unavailable,
            _ => &self.unknown,
        }
    }
}

#[async_trait]
impl Filter for Metrics {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let series = self
            .series
            .get(&invocation.method, |method| Arc::new(self.series(method)));
        let series = Arc::clone(series);
        series.processing.increment(1.0);
        let began = Instant::now();
        let watch = Watch::new(move |end: End<'_>| series.ended(&end, began));
        watch.settle(next.run(invocation).await)
    }
}

impl ClusterFilter for Metrics {}

extension!(dyn ClusterFilter, "metrics", |cx| Ok(Arc::new(
    Metrics::of("consumer_request", cx.url, &cx.shared::<Machine>())
)));

extension!(dyn Filter, "metrics", |cx| {
    let what = if is_provider(cx.url) {
        "provider_request"
    } else {
        "consumer_attempt"
    };
    Ok(Arc::new(Metrics::of(what, cx.url, &cx.shared::<Machine>())))
});

#[cfg(test)]
mod tests {
    use dubbo_test::metrics::Numbers;

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation_of};

    #[tokio::test]
    async fn calls_are_counted_by_how_they_ended_under_the_names_of_dubbo_go() {
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let answers = [
            Ok(()),
            Err(Status::business("x")),
            Err(Status::deadline_exceeded("x")),
            Err(Status::resource_exhausted("x")),
            Err(Status::unavailable("x")),
            Err(Status::permission_denied("x")),
            Err(Status::internal("x")),
            Err(Status::not_found("x").with_origin(Origin::Business)),
            Err(Status::unavailable("x").with_origin(Origin::Transport)),
            Err(Status::internal("x").with_source(CodecError::Count {
                type_name: "Greeting",
                got: 2,
            })),
        ];
        let calls = answers.len();
        let provider = Provider::answering(answers.into());
        let chain = provider.chain("metrics", "application=shop&app.version=1&group=g");
        for _ in 0..calls {
            let _ = chain.invoke(invocation_of("Greet")).await;
        }
        let hanging = Provider::hanging();
        let chain = hanging.chain("metrics", "application=shop&app.version=1&group=g");
        let mut call = chain.invoke(invocation_of("Greet"));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        let labels = "{application_name=shop,application_version=1,group=g,hostname=,interface=test.Greeter,ip=,method=Greet,version=}";
        let get = |name: &str| {
            numbers
                .get(&format!("dubbo_provider_{name}{labels}"))
                .to_string()
        };
        assert_eq!(get("requests_processing_total"), "1");
        drop(call);
        for (name, want) in [
            ("requests_total", "11"),
            ("requests_processing_total", "0"),
            ("requests_succeed_total", "1"),
            ("requests_failed_total", "10"),
            ("requests_business_failed_total", "2"),
            ("requests_timeout_total", "1"),
            ("requests_limit_total", "1"),
            ("requests_failed_service_unavailable_total", "2"),
            ("requests_failed_network_total", "1"),
            ("requests_failed_codec_total", "1"),
            ("requests_unknown_failed_total", "2"),
            ("rt_milliseconds", "11"),
        ] {
            assert_eq!(get(name), want, "{name}: {:#?}", numbers.all());
        }
    }
}
