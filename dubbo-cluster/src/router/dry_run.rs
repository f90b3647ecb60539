//! What a rule would do, before it does.

use std::{borrow::Cow, fmt, sync::Arc};

use async_trait::async_trait;
use bytes::BytesMut;
use dubbo_core::{
    cluster::{Candidates, Node, NodeList, NodeWeight},
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    payload::{Codec, CodecError, Message, Payload},
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
    yaml::{Problems, parse},
};

use super::{affinity, condition, listen::Story, mesh, script, tag};
use crate::{loadbalance::Chance, rules::RuleError};

/// A call, as a rule sees it.
///
/// ```
/// use dubbo_cluster::router::Request;
///
/// let request = Request::new("shop.Users", "find")
///     .consumer("region", "hz")
///     .argument("u1")
///     .attachment("dubbo.tag", "gray");
/// # let _ = request;
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    consumer: Url,
    method: String,
    arguments: Vec<String>,
    attachments: Vec<(String, String)>,
}

/// The sorts of rules that can be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleKind {
    /// Those of [`affinity-router`](crate::rules::key::affinity).
    Affinity,
    /// Those of [`condition-router`](crate::rules::key::condition).
    Condition,
    /// Those of [`MESHAPPRULE`](crate::rules::key::mesh).
    Mesh,
    /// Those of [`script-router`](crate::rules::key::script).
    Script,
    /// Those of [`tag-router`](crate::rules::key::tag).
    Tag,
}

/// What a rule leaves, and why it drops the others. Prints as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DryRun {
    /// What sort of rule it is.
    pub kind: RuleKind,
    /// What of it decided, step by step, each with the number of those left after it.
    pub steps: Vec<(String, usize)>,
    /// Each provider, in the order in which they were given.
    pub providers: Vec<Outcome>,
}

/// What a rule does with one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Its protocol and address.
    pub provider: String,
    /// What of the rule drops it; `None`: it is left.
    pub dropped_by: Option<String>,
}

impl Request {
    /// A call of `method` of the service `interface`, by a consumer that says nothing about itself.
    pub fn new(interface: &str, method: impl Into<String>) -> Self {
        Self {
            consumer: Url::new("consumer", "127.0.0.1")
                .with_path(interface)
                .with_param("interface", interface),
            method: method.into(),
            arguments: Vec::new(),
            attachments: Vec::new(),
        }
    }

    /// The consumer says this about itself.
    pub fn consumer(mut self, key: &str, value: &str) -> Self {
        self.consumer = self.consumer.with_param(key, value);
        self
    }

    /// The consumer is at this address.
    pub fn from_host(mut self, host: &str) -> Self {
        self.consumer = self.consumer.with_host(host);
        self
    }

    /// One more argument, which has this text.
    pub fn argument(mut self, text: impl Into<String>) -> Self {
        self.arguments.push(text.into());
        self
    }

    /// One more attachment.
    pub fn attachment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attachments.push((name.into(), value.into()));
        self
    }

    /// The service that is called: the interface, with the `group` and the `version` that the consumer says.
    pub fn service_key(&self) -> ServiceKey {
        self.consumer.service_key()
    }

    /// The call, as routers see it. It cannot be sent.
    pub fn invocation(&self) -> Invocation {
        let types = self.arguments.iter().map(|_| "java.lang.String");
        let method = MethodDescriptor::java(self.method.clone(), CallKind::Unary, types, "");
        let interface = self.consumer.path().to_owned();
        let descriptor = ServiceDescriptor::new(interface, vec![method]);
        let method = MethodRef::new(Arc::new(descriptor), 0);
        let arguments = Payload::typed(Texts(self.arguments.clone()));
        let service = Arc::new(self.service_key());
        let mut invocation = Invocation::new(service, method, Body::Unary(arguments));
        for (name, value) in &self.attachments {
            invocation.attachments.insert(name.clone(), value.clone());
        }
        invocation
    }
}

impl RuleKind {
    /// What the text of a rule is, by what is in it.
    ///
    /// # Errors
    ///
    /// It has nothing that one kind alone has, or is not YAML.
    pub fn of(rule: &str) -> Result<Self, RuleError> {
        if condition::Rule::is_bare(rule) {
            return Ok(Self::Condition);
        }
        let documents = mesh::documents(rule);
        let mut problems = Problems::default();
        let first = documents.first().map_or("", |first| first);
        let document = parse(NAME, first, &mut problems);
        if problems.has_errors() {
            return Err(RuleError::of(problems.into_parts().0));
        }
        let map = document.as_ref().and_then(|document| document.as_map());
        let has = |wanted: &str| {
            let mut keys = map.into_iter().flatten();
            keys.any(|entry| entry.key.eq_ignore_ascii_case(wanted))
        };
        let kind = KINDS.iter().find(|(key, _)| has(key));
        kind.map(|(_, kind)| *kind).ok_or_else(|| {
            let keys = KINDS.map(|(key, _)| format!("`{key}`")).join(", ");
            RuleError::new(format!(
                "what kind of rule it is cannot be told: it has none of {keys}"
            ))
        })
    }
}

impl DryRun {
    /// Those that are left.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        let kept = self
            .providers
            .iter()
            .filter(|outcome| outcome.dropped_by.is_none());
        kept.map(|outcome| &*outcome.provider)
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self
            .providers
            .iter()
            .map(|outcome| outcome.provider.chars().count());
        let width = widths.max().unwrap_or(0).max(PROVIDER.len());
        writeln!(f, "{PROVIDER:width$}  outcome")?;
        for Outcome {
            provider,
            dropped_by,
        } in &self.providers
        {
            match dropped_by {
                None => writeln!(f, "{provider:width$}  kept")?,
                Some(by) => writeln!(f, "{provider:width$}  dropped: {by}")?,
            }
        }
        for (what, left) in &self.steps {
            writeln!(f, "{what} -> {left}")?;
        }
        Ok(())
    }
}

/// Which of `providers` the text `rule` would leave for `request`, and why not the others: what it is is [told from
/// it](RuleKind::of). Where a rule chooses by chance, this is one of the outcomes; scripts are run.
///
/// The rule is taken to be for these providers and this consumer, wherever it will be kept.
///
/// # Errors
///
/// All that is wrong with the rule, with lines and columns.
pub fn dry_run(rule: &str, providers: &[Url], request: &Request) -> Result<DryRun, RuleError> {
    dry_run_as(RuleKind::of(rule)?, rule, providers, request)
}

/// The same for a rule of the kind `kind`.
///
/// # Errors
///
/// As [`dry_run`].
pub fn dry_run_as(
    kind: RuleKind,
    rule: &str,
    providers: &[Url],
    request: &Request,
) -> Result<DryRun, RuleError> {
    let nodes = providers
        .iter()
        .map(|url| Node::new(Arc::new(Shown(url.clone())), NodeWeight::constant(1)));
    let list: Arc<NodeList> = Arc::new(nodes.collect());
    let mut candidates = Candidates::all(Arc::clone(&list));
    let mut story = Story::default();
    let (consumer, invocation, chance) = (&request.consumer, &request.invocation(), &Chance::new());
    match kind {
        RuleKind::Affinity => {
            let rule = affinity::Rule::parse(NAME, rule)?;
            let places = rule.places(&list, consumer);
            rule.apply(&places, consumer, &mut candidates, &mut story);
        }
        RuleKind::Condition => {
            let rule = condition::Rule::parse(NAME, rule)?;
            let asked = condition::Asked {
                consumer,
                invocation,
                undo_all: condition::undoes_all(consumer)
                    .map_err(|e| RuleError::new(e.to_string()))?,
                chance,
            };
            rule.apply(&asked, &rule.index(), &mut candidates, &mut story);
        }
        RuleKind::Mesh => {
            let rule = mesh::Rule::parse(NAME, rule)?;
            let asked = mesh::Asked {
                consumer,
                invocation,
                chance,
            };
            rule.apply(&asked, &rule.index(&list), &mut candidates, &mut story);
        }
        RuleKind::Script => {
            let rule = Arc::new(script::Rule::parse(NAME, rule)?);
            script::Rule::apply(&rule, invocation, &mut candidates, &mut story);
        }
        RuleKind::Tag => {
            let rule = Arc::new(tag::Rule::parse(NAME, rule)?);
            let rules = rule.is_on().then_some((tag::For::All, &rule));
            let index = tag::Index::new(&list, rules.as_slice());
            tag::Request::of(consumer, invocation).apply(&index, &mut candidates, &mut story);
        }
    }
    Ok(told(kind, &list, story))
}

fn told(kind: RuleKind, list: &NodeList, story: Story) -> DryRun {
    let outcomes = list.iter().enumerate().map(|(place, node)| {
        let dropping = story
            .0
            .iter()
            .find(|step| step.left.places().all(|left| left != place));
        Outcome {
            provider: node.url.origin(),
            dropped_by: dropping.map(|step| step.what.clone()),
        }
    });
    DryRun {
        kind,
        providers: outcomes.collect(),
        steps: story
            .0
            .into_iter()
            .map(|step| (step.what, step.left.len()))
            .collect(),
    }
}

/// A provider that is looked at.
struct Shown(Url);

#[async_trait]
impl Invoker for Shown {
    fn url(&self) -> &Url {
        &self.0
    }

    fn is_available(&self) -> bool {
        true
    }

    async fn invoke(&self, _invocation: Invocation) -> RpcResult {
        Err(Status::internal("a provider of a dry run is not called"))
    }

    async fn close(&self) {}
}

/// The arguments of a call that is not made.
#[derive(Debug)]
struct Texts(Vec<String>);

impl Message for Texts {
    fn encode(&self, codec: Codec, _dst: &mut BytesMut) -> Result<(), CodecError> {
        Err(CodecError::encode::<Self>(
            codec,
            "a call of a dry run is not made",
        ))
    }

    fn values(&self) -> usize {
        self.0.len()
    }

    fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        self.0.get(index).map(Cow::from)
    }
}

/// What tells the kinds of rules apart.
const KINDS: [(&str, RuleKind); 5] = [
    ("conditions", RuleKind::Condition),
    ("tags", RuleKind::Tag),
    ("affinityAware", RuleKind::Affinity),
    ("script", RuleKind::Script),
    ("kind", RuleKind::Mesh),
];

/// What messages call the text.
const NAME: &str = "rule";

/// What stands above the providers in the table.
const PROVIDER: &str = "provider";

#[cfg(test)]
mod tests {
    use super::*;

    fn providers() -> Vec<Url> {
        let texts = [
            "tri://10.0.0.1:20880/shop.Users?region=hz&v=1",
            "tri://10.0.0.22:20880/shop.Users?region=sh&v=2",
            "tri://10.0.0.3:20880/shop.Users?region=hz&v=2&dubbo.tag=gray",
        ];
        texts.map(|text| text.parse().expect(text)).to_vec()
    }

    fn request() -> Request {
        Request::new("shop.Users", "find")
            .consumer("region", "hz")
            .from_host("10.0.0.9")
            .argument("u1")
            .attachment("dubbo.tag", "gray")
    }

    #[test]
    fn a_rule_of_each_kind_says_whom_it_leaves_and_what_drops_the_others() {
        for (rule, kind, kept, step) in [
            ("=> v=2", RuleKind::Condition, &[1, 2][..], "`=> v=2`"),
            (
                "conditions: ['method=find & arguments[0]=u1 => region=$region', '=> v=2']",
                RuleKind::Condition,
                &[2],
                "`method=find & arguments[0]=u1 => region=$region`",
            ),
            (
                "host=10.0.0.9 => false",
                RuleKind::Condition,
                &[],
                "`host=10.0.0.9 => false`",
            ),
            (
                "tags: [{name: gray, addresses: ['10.0.0.1']}]",
                RuleKind::Tag,
                &[0],
                "the call has the tag `gray`; a rule says who has `gray`",
            ),
            (
                "tags: []",
                RuleKind::Tag,
                &[2],
                "the call has the tag `gray`",
            ),
            (
                "affinityAware: {key: region, ratio: 60}",
                RuleKind::Affinity,
                &[0, 2],
                "2 of 3 have `region=hz`, and 60 % are enough",
            ),
            (
                "kind: VirtualService\nmetadata: {name: u}\nspec: {dubbo: [{name: r, routedetail: [{match: \
                 [{method: {argc: 1}}], route: [{destination: {subset: s}}]}]}]}\n---\nkind: DestinationRule\nmetadata: \
                 {name: u}\nspec: {subsets: [{name: s, labels: {v: '1'}}]}\n",
                RuleKind::Mesh,
                &[0],
                "`r` goes to the subset `s`",
            ),
            #[cfg(feature = "script")]
            (
                "script: '[invokers[1]]'",
                RuleKind::Script,
                &[1],
                "the script",
            ),
        ] {
            let run = dry_run(rule, &providers(), &request()).expect(rule);
            assert_eq!(run.kind, kind, "{rule}");
            assert_eq!(run.steps[0].0, step, "{rule}");
            for (place, outcome) in run.providers.iter().enumerate() {
                assert_eq!(
                    outcome.dropped_by.is_none(),
                    kept.contains(&place),
                    "{rule}: {run}"
                );
            }
            assert_eq!(run.kept().count(), kept.len());
        }
    }

    #[test]
    fn it_prints_as_a_table() {
        let rule = "conditions: ['=> region=hz', '=> v=1']";
        let run = dry_run(rule, &providers(), &request()).expect("valid");
        assert_eq!(
            run.to_string(),
            "provider               outcome\n\
             tri://10.0.0.1:20880   kept\n\
             tri://10.0.0.22:20880  dropped: `=> region=hz`\n\
             tri://10.0.0.3:20880   dropped: `=> v=1`\n\
             `=> region=hz` -> 2\n\
             `=> v=1` -> 1\n"
        );
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (rule, want) in [
            (
                "",
                "what kind of rule it is cannot be told: it has none of `conditions`, `tags`",
            ),
            ("configs: []", "cannot be told"),
            (
                "conditions: ['a==b']",
                "rule:1:14: conditions[0]: `==b` cannot stand",
            ),
            ("conditions: [", "not valid YAML"),
            #[cfg(not(feature = "script"))]
            ("script: x", "add the feature `script`"),
        ] {
            let error = dry_run(rule, &providers(), &request()).expect_err(rule);
            assert!(error.to_string().contains(want), "{rule}: {error}");
        }
    }
}
