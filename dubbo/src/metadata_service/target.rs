//! Which metadata service of an instance to ask, and where (`docs/spec/metadata.md` §3.4).

use dubbo_core::{discovery::ServiceInstance, url::Url};
use dubbo_metadata::instance::{MetaVersion, MetadataServiceParams, keys};

use super::access::TOKEN;

/// The metadata service of one instance. All else that the instance says about it is no concern of who calls it: how
/// long to wait and how often to try again least of all.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) way: Way,
    /// What it lets those in by who have read the registry. No part of the URL, which is printed.
    pub(super) token: Option<String>,
}

/// How it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The first version, by the classic protocol.
    DubboV1,
    /// The first version, by Triple.
    TripleV1,
    /// The second version, by Triple. That it is there may not be true.
    TripleV2,
}

impl Target {
    /// The metadata service of `instance`. What says nothing about it is called as Dubbo Java calls it: by the classic
    /// protocol, at `port_without_metadata` or else at its own port.
    ///
    /// # Errors
    ///
    /// What it says cannot be understood, or names a protocol that carries no metadata service.
    pub(super) fn of(
        instance: &ServiceInstance,
        port_without_metadata: Option<u16>,
    ) -> Result<Self, String> {
        let said = |key| {
            let text = instance.metadata.get(key).map(str::trim);
            text.filter(|text| !matches!(*text, "" | "{}" | "[]"))
        };
        let mut token = None;
        let (protocol, host, port) = if let Some(json) = said(keys::METADATA_SERVICE_PARAMS) {
            let mut params =
                MetadataServiceParams::parse(json).map_err(|error| error.to_string())?;
            token = params.params.remove(TOKEN);
            (params.protocol, instance.host.to_string(), params.port)
        } else if let Some(json) = said(keys::METADATA_SERVICE_URLS) {
            let url = first_url(json)
                .map_err(|why| format!("`{}` {why}", keys::METADATA_SERVICE_URLS))?;
            let port = url.port().unwrap_or(instance.port);
            token = url.param(TOKEN).map(str::to_owned);
            (url.protocol().to_owned(), url.host().to_owned(), port)
        } else {
            let port = port_without_metadata.unwrap_or(instance.port);
            (DUBBO.to_owned(), instance.host.to_string(), port)
        };
        let meta_v = instance.metadata.get(keys::META_V);
        let way = match (
            protocol.to_ascii_lowercase().as_str(),
            MetaVersion::of(meta_v),
        ) {
            (TRIPLE, MetaVersion::V2) => Way::TripleV2,
            (TRIPLE, MetaVersion::V1) => Way::TripleV1,
            (DUBBO, _) => Way::DubboV1,
            _ => {
                return Err(format!(
                    "it is served by `{protocol}`, and can be called by `{TRIPLE}` and `{DUBBO}`"
                ));
            }
        };
        Ok(Self {
            host,
            port,
            way,
            token: token.filter(|token| !token.is_empty()),
        })
    }

    /// Where it is, with our own limits.
    pub(super) fn url(&self) -> Url {
        Url::new(self.way.protocol(), &*self.host)
            .with_port(self.port)
            .with_params([
                // Triple's name of it, and that of the classic protocol.
                ("max-call-recv-msg-size", LARGEST_ANSWER),
                ("payload", LARGEST_ANSWER),
            ])
    }
}

impl Way {
    /// The protocol, by the name that its plugin is linked under.
    pub(super) fn protocol(self) -> &'static str {
        match self {
            Self::DubboV1 => DUBBO,
            Self::TripleV1 | Self::TripleV2 => TRIPLE,
        }
    }
}

fn first_url(json: &str) -> Result<Url, String> {
    let urls: Vec<String> =
        serde_json::from_str(json).map_err(|error| format!("is no array of URLs: {error}"))?;
    let first = urls.first().ok_or("is empty")?;
    first
        .parse()
        .map_err(|error| format!("begins with {first:?}, which is no URL: {error}"))
}

const DUBBO: &str = "dubbo";
const TRIPLE: &str = "tri";

/// 64 MiB: metadata of large applications is beyond what calls may answer by default.
const LARGEST_ANSWER: &str = "67108864";

#[cfg(test)]
mod tests {
    use super::*;

    fn target(metadata: &[(&str, &str)], port: Option<u16>) -> Result<(String, Way), String> {
        let mut instance = ServiceInstance::new("demo", "10.0.0.1", 50051);
        let metadata = metadata.iter();
        instance.metadata = metadata
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let target = Target::of(&instance, port)?;
        Ok((target.url().address(), target.way))
    }

    const PARAMS: &str = keys::METADATA_SERVICE_PARAMS;
    const URLS: &str = keys::METADATA_SERVICE_URLS;

    #[test]
    fn what_an_instance_says_decides_where_and_how_it_is_asked() {
        let tri = r#"{"protocol":"tri","port":"20001","version":"2.0.0"}"#;
        let dubbo = r#"{"protocol":"dubbo","port":"20000"}"#;
        let urls = r#"["dubbo://10.0.0.9:20880/x?timeout=1","tri://10.0.0.8:1"]"#;
        for (metadata, address, way) in [
            (
                &[(PARAMS, tri), ("meta-v", "2.0.0")][..],
                "10.0.0.1:20001",
                Way::TripleV2,
            ),
            (
                &[(PARAMS, tri), ("meta-v", "1.0.0")],
                "10.0.0.1:20001",
                Way::TripleV1,
            ),
            (&[(PARAMS, tri)], "10.0.0.1:20001", Way::TripleV1),
            (
                &[(PARAMS, dubbo), ("meta-v", "2.0.0")],
                "10.0.0.1:20000",
                Way::DubboV1,
            ),
            (
                &[(PARAMS, r#"{"dubbo":{"version":"1.0.0","port":"20880"}}"#)],
                "10.0.0.1:20880",
                Way::DubboV1,
            ),
            (
                &[(PARAMS, " "), (URLS, urls)],
                "10.0.0.9:20880",
                Way::DubboV1,
            ),
            (
                &[(URLS, r#"["TRI://10.0.0.8"]"#), ("meta-v", "2.0.0")],
                "10.0.0.8:50051",
                Way::TripleV2,
            ),
            (
                &[(PARAMS, "{}"), (URLS, "[]")],
                "10.0.0.1:50051",
                Way::DubboV1,
            ),
            (&[("meta-v", "2.0.0")], "10.0.0.1:50051", Way::DubboV1),
        ] {
            let got = target(metadata, None);
            assert_eq!(got, Ok((address.to_owned(), way)), "{metadata:?}");
        }
    }

    #[test]
    fn the_port_of_those_that_say_nothing_can_be_set() {
        let got = target(&[], Some(20880));
        assert_eq!(got, Ok(("10.0.0.1:20880".to_owned(), Way::DubboV1)));
        let params = r#"{"protocol":"dubbo","port":"20000"}"#;
        let got = target(&[(PARAMS, params)], Some(20880));
        assert_eq!(got, Ok(("10.0.0.1:20000".to_owned(), Way::DubboV1)));
    }

    #[test]
    fn what_cannot_be_called_says_why() {
        for (key, value, want) in [
            (
                PARAMS,
                r#"{"protocol":"rest","port":"1"}"#,
                "served by `rest`",
            ),
            (PARAMS, r#"{"protocol":"tri"}"#, "`port`"),
            (PARAMS, "oops", "url-params cannot be read"),
            (URLS, "oops", "`dubbo.metadata-service.urls` is no array"),
            (URLS, r#"["://"]"#, "which is no URL"),
        ] {
            let error = target(&[(key, value)], None).expect_err(value);
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn the_token_is_taken_from_wherever_the_instance_says_it_and_stands_in_no_url() {
        let params = r#"{"protocol":"tri","port":"1","token":"s3cret"}"#;
        let urls = r#"["dubbo://10.0.0.9:20880/x?token=s3cret"]"#;
        for (key, value, want) in [
            (PARAMS, params, Some("s3cret")),
            (URLS, urls, Some("s3cret")),
            (PARAMS, r#"{"protocol":"tri","port":"1","token":""}"#, None),
            (PARAMS, r#"{"protocol":"tri","port":"1"}"#, None),
        ] {
            let mut instance = ServiceInstance::new("demo", "10.0.0.1", 50051);
            instance.metadata.insert(key.to_owned(), value.to_owned());
            let target = Target::of(&instance, None).expect("valid");
            assert_eq!(target.token.as_deref(), want, "{value}");
            assert!(!target.url().to_string().contains("s3cret"));
        }
    }

    #[test]
    fn an_instance_cannot_set_the_terms_of_the_call() {
        let params = r#"{"protocol":"tri","port":"1","timeout":"60000","retries":"5","connections":"100",
            "max-call-recv-msg-size":"1","payload":"1"}"#;
        let mut instance = ServiceInstance::new("demo", "10.0.0.1", 50051);
        instance
            .metadata
            .insert(PARAMS.to_owned(), params.to_owned());
        let url = Target::of(&instance, None).expect("valid").url();
        assert_eq!(
            url.to_string(),
            "tri://10.0.0.1:1?max-call-recv-msg-size=67108864&payload=67108864"
        );
    }
}
