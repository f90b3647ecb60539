//! `mergeable`: each group of providers gets the call, and their results become one.

mod concat;
mod grouped;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, error::Error, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, Cluster, ClusterConfig, Directory, Merger, PerMethod},
    extension::BoxError,
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    service::{CallKind, MethodDescriptor, MethodRef, ServiceKey},
    status::{Code, Origin, Retry, Status},
    url::Key,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};

use self::grouped::{Group, Grouped, group_of};
use super::{
    FailedCall, Failover,
    attempt::Reference,
    joined::{Joined, Manner},
};

/// Calls each group of providers that a reference to several groups has (`group: "a,b"`, `group: "*"`), and merges the
/// results. Within a group the call is made as by [`Failover`].
///
/// `docs/spec/cluster.md` §2.11. The parameter `merger` of a method, or of all, says how:
///
/// - nothing: the first group with an available provider answers alone. So it is for methods with a stream.
/// - `default` or `true`: by the [`Merger`] that is called like the type of the result; without one, messages of a proto
///   file by protobuf's own rules (lists are joined, maps united, what is single is the last), and values of Java by what
///   they are (lists, sets, maps, arrays).
/// - anything else: by the merger of that name.
///
/// All groups are called at once. One that nobody is in any more is left out, and so is one that answers with an error, if
/// another has a result; what fails otherwise fails the call, and the others are cancelled.
#[derive(Debug)]
pub struct Mergeable;

impl Cluster for Mergeable {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let mergers = config.per_method(|method| merger(&config, method))?;
        let directory: Arc<dyn Directory> = Arc::new(Grouped::new(directory));
        let one_group = Failover.join(Arc::clone(&directory), Arc::clone(&config))?;
        let wish = config.url.param("group").unwrap_or_default();
        let wish = wish.split(',').map(|group| Arc::from(group.trim()));
        let manner = Groups {
            mergers,
            one_group,
            wish: wish.collect(),
        };
        Ok(Joined::over(directory, config, manner))
    }
}

/// How the results of `method` are merged.
fn merger(config: &ClusterConfig, method: &str) -> Result<Option<Arc<dyn Merger>>, BoxError> {
    let name = config.url.get_for(method, &MERGER)?;
    let name = name.trim();
    let known = config.descriptor().methods().iter();
    let unary = known.filter(|known| known.name == method && known.kind == CallKind::Unary);
    let unary: Vec<&MethodDescriptor> = unary.collect();
    let (false, Some(first)) = (name.is_empty(), unary.first()) else {
        return Ok(None);
    };
    let by_type = DEFAULT.iter().any(|word| name.eq_ignore_ascii_case(word));
    let name = match (by_type, &first.java) {
        (false, _) => name,
        (true, _) if config.extensions.contains::<dyn Merger>(&first.output) => &first.output,
        (true, Some(_)) => OF_JAVA,
        (true, None) => OF_MESSAGES,
    };
    let merger = config.extensions.create::<dyn Merger>(name, &config.url)?;
    for method in unary {
        merger.check(method).map_err(|why| {
            let method = &method.name;
            format!("the merger `{name}` cannot merge the results of `{method}`: {why}")
        })?;
    }
    Ok(Some(merger))
}

struct Groups {
    mergers: PerMethod<Option<Arc<dyn Merger>>>,
    /// Calls the group that the invocation has with it.
    one_group: Arc<dyn Invoker>,
    /// The groups that the reference asks for, in this order; `*` is all.
    wish: Vec<Arc<str>>,
}

impl Manner for Groups {
    const CLUSTER: &'static str = "mergeable";

    async fn call(&self, reference: &Reference, invocation: Invocation) -> RpcResult {
        let (groups, available) = {
            let candidates = reference.directory.list(&invocation)?;
            let groups = self.groups(&candidates);
            let available = |group: &Arc<str>| {
                let mut nodes = candidates.iter().filter(|node| *group_of(node) == **group);
                nodes.any(|node| node.admits(&invocation.method))
            };
            let available = groups.iter().position(available).unwrap_or(0);
            (groups, available)
        };
        let merger = self.mergers.get(&invocation.method).as_ref();
        match merger.filter(|_| matches!(invocation.body, Body::Unary(_))) {
            Some(merger) => self.merged(&**merger, groups, invocation).await,
            None => self.first(groups, available, invocation).await,
        }
    }
}

impl Groups {
    /// The groups that have providers, in the order that the reference asks for them, else by name.
    fn groups(&self, candidates: &Candidates) -> Vec<Arc<str>> {
        let groups: BTreeSet<&str> = candidates.iter().map(group_of).collect();
        let place = |group: &str| self.wish.iter().position(|wished| **wished == *group);
        let mut groups: Vec<Arc<str>> = groups.into_iter().map(Arc::from).collect();
        groups.sort_by_key(|group| place(group).unwrap_or(usize::MAX));
        groups
    }

    /// The answer of the first group that has a provider, from that at `available` on.
    async fn first(
        &self,
        groups: Vec<Arc<str>>,
        available: usize,
        invocation: Invocation,
    ) -> RpcResult {
        let mut invocation = Some(invocation);
        let mut last = None;
        for group in groups.into_iter().skip(available) {
            let Some(call) = invocation.take() else {
                break;
            };
            invocation = call.try_clone();
            match self.one_group.invoke(within(call, &group)).await {
                Err(status) if is_nobody(&status) => last = Some(status),
                answer => return answer,
            }
        }
        Err(last.unwrap_or_else(super::attempt::nobody_listed))
    }

    async fn merged(
        &self,
        merger: &dyn Merger,
        groups: Vec<Arc<str>>,
        invocation: Invocation,
    ) -> RpcResult {
        let (service, method) = (Arc::clone(&invocation.service), invocation.method.clone());
        let calls = groups.iter().enumerate().filter_map(|(place, group)| {
            let call = within(invocation.try_clone()?, group);
            let answer = self.one_group.invoke(call);
            Some(async move { (place, answer.await) })
        });
        // Those that are left when this is dropped are cancelled.
        let mut calls: FuturesUnordered<_> = calls.collect();
        drop(invocation);
        let mut replies: Vec<(usize, Reply)> = Vec::with_capacity(groups.len());
        let mut refused: Option<(usize, Status)> = None;
        while let Some((place, answer)) = calls.next().await {
            let status = match answer {
                Ok(reply) => {
                    replies.push((place, reply));
                    continue;
                }
                Err(status) => status,
            };
            if status.retry() != Retry::Never && !is_nobody(&status) {
                return Err(status.context(format_args!("in group `{}`", groups[place])));
            }
            tracing::debug!(%service, method = method.name(), group = &*groups[place], error = %status, "a group has no result");
            // An answer says more than that there is nobody, and the first group's is the one that callers know.
            let rank = |place: usize, status: &Status| (is_nobody(status), place);
            let better = refused
                .as_ref()
                .is_none_or(|(known, other)| rank(place, &status) < rank(*known, other));
            if better {
                refused = Some((place, status));
            }
        }
        replies.sort_by_key(|(place, _)| *place);
        let from: Vec<&str> = replies.iter().map(|(place, _)| &*groups[*place]).collect();
        match (replies.len(), refused) {
            (0, Some((_, status))) => Err(status),
            (0, None) => Err(super::attempt::nobody_listed()),
            (1, _) => Ok(replies.remove(0).1),
            (2.., _) => {
                let from = from.join(", ");
                merge(merger, &method, replies)
                    .map_err(|error| unmerged(&service, &method, &from, error))
            }
        }
    }
}

/// The call, for the providers of `group` alone.
fn within(mut invocation: Invocation, group: &Arc<str>) -> Invocation {
    let service = ServiceKey::clone(&invocation.service).with_group(group);
    invocation.service = Arc::new(service);
    invocation.extensions.insert(Group(Arc::clone(group)));
    invocation
}

/// What came beside the first result stays.
fn merge(
    merger: &dyn Merger,
    method: &MethodRef,
    replies: Vec<(usize, Reply)>,
) -> Result<Reply, BoxError> {
    let mut beside = None;
    let mut results = Vec::with_capacity(replies.len());
    for (_, reply) in replies {
        let Body::Unary(payload) = reply.body else {
            return Err("a stream came where one result was due".into());
        };
        results.push(payload);
        beside.get_or_insert((reply.headers, reply.trailers));
    }
    let mut one = Reply::new(Body::Unary(merger.merge(method, results)?));
    if let Some((headers, trailers)) = beside {
        one.headers = headers;
        one.trailers = trailers;
    }
    Ok(one)
}

fn unmerged(service: &ServiceKey, method: &MethodRef, groups: &str, error: BoxError) -> Status {
    let method = method.name();
    let text = format!(
        "calling {method} of {service}: the results of the groups {groups} cannot be merged: {error}"
    );
    Status::internal(text).done().with_source(error)
}

/// Whether there was no provider to try: what Dubbo Java numbers 6.
fn is_nobody(status: &Status) -> bool {
    let was_tried = status.source().is_some_and(<dyn Error>::is::<FailedCall>);
    status.is_not_processed()
        && status.origin() == Origin::Framework
        && status.code() == Code::Unavailable
        && !was_tried
}

dubbo_core::extension!(dyn Cluster, "mergeable", |_cx| Ok(Arc::new(Mergeable)));

const MERGER: Key<String> = Key {
    name: "merger",
    default: String::new,
};

/// The merger goes by the type of the result.
const DEFAULT: [&str; 2] = ["default", "true"];

const OF_JAVA: &str = "java";
const OF_MESSAGES: &str = "protobuf";
