//! What tests of routers have in common: providers by their URLs, rules by their keys, calls with arguments.

use std::{borrow::Cow, sync::Arc};

use bytes::BytesMut;
use dubbo_core::{
    cluster::{Candidates, Node, NodeWeight, Router},
    extension::Extensions,
    invocation::{Body, Invocation},
    payload::{Codec, CodecError, Message, Payload},
    url::Url,
};

use super::RouterChain;
use crate::{
    rules::RuleBook,
    testing::{Scripted, consumer, invocation},
};

/// One consumer with its rules.
pub(super) struct Rig {
    pub(super) extensions: Extensions,
    pub(super) consumer: Url,
    pub(super) book: Arc<RuleBook>,
}

impl Rig {
    /// The consumer of the application `shop`, with these parameters.
    pub(super) fn of(params: &str) -> Self {
        let extensions = Extensions::linked().expect("no duplicates");
        let given: Url = format!("consumer://h/x?{params}").parse().expect(params);
        Self {
            book: extensions.shared(),
            extensions,
            consumer: consumer()
                .with_param("application", "shop")
                .with_params(given.params().map(|(key, value)| (key, value.to_owned()))),
        }
    }

    pub(super) fn say(self, key: &str, rule: &str) -> Self {
        self.book.put(key, Some(rule));
        self
    }

    pub(super) fn router(&self, name: &str) -> Arc<dyn Router> {
        let made = self.extensions.create::<dyn Router>(name, &self.consumer);
        made.expect("the router is made")
    }

    pub(super) fn chain(&self) -> RouterChain {
        RouterChain::of(&self.extensions, &self.consumer).expect("the chain is made")
    }

    /// The ports of those that the router `name` leaves of `nodes` for `call`.
    pub(super) fn route(&self, name: &str, nodes: &[&str], call: &Invocation) -> Vec<u16> {
        let mut candidates = providers(nodes);
        let router = self.router(name);
        router.listed(candidates.list());
        if !router.is_idle() {
            router.route(&mut candidates, &self.consumer, call);
        }
        crate::testing::ports(&candidates)
    }

    /// What the router `name` says about that.
    pub(super) fn explain(&self, name: &str, nodes: &[&str], call: &Invocation) -> Option<String> {
        let candidates = providers(nodes);
        let router = self.router(name);
        router.listed(candidates.list());
        router.explain(&candidates, &self.consumer, call)
    }
}

/// Providers of the application `users` at 10.0.0.1, at the ports 1, 2, 3, …, with these parameters; one that begins with
/// `host?` is there.
pub(super) fn providers(params: &[&str]) -> Candidates {
    let nodes = (1..).zip(params).map(|(port, params)| {
        let (host, params) = params.split_once('?').unwrap_or(("10.0.0.1", params));
        let url = format!("tri://{host}:{port}/a.B?application=users&{params}");
        let url = url.parse().expect("a URL");
        Node::new(Scripted::of(url, []), NodeWeight::constant(1))
    });
    Candidates::all(Arc::new(nodes.collect()))
}

/// A call with these attachments.
pub(super) fn call(attachments: &[(&'static str, &'static str)]) -> Invocation {
    let mut call = invocation();
    for &(name, value) in attachments {
        call.attachments.insert(name, value);
    }
    call
}

/// A call with these arguments.
pub(super) fn call_with(arguments: &[&'static str]) -> Invocation {
    let mut call = invocation();
    call.body = Body::Unary(Payload::typed(Words(arguments.to_vec())));
    call
}

/// A generic call of `method` with no arguments.
pub(super) fn generic_call(method: &'static str) -> Invocation {
    let mut call = invocation();
    call.body = Body::Unary(Payload::typed(Asking(method)));
    call
}

/// Arguments that are texts.
#[derive(Debug)]
struct Words(Vec<&'static str>);

/// The arguments of a generic call.
#[derive(Debug)]
struct Asking(&'static str);

impl Message for Asking {
    fn encode(&self, _codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        dst.extend_from_slice(self.0.as_bytes());
        Ok(())
    }

    fn asked(&self) -> Option<(&str, usize)> {
        Some((self.0, 0))
    }
}

impl Message for Words {
    fn encode(&self, _codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        dst.extend_from_slice(self.0.concat().as_bytes());
        Ok(())
    }

    fn values(&self) -> usize {
        self.0.len()
    }

    fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        self.0.get(index).map(|&word| Cow::Borrowed(word))
    }
}
