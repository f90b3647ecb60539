//! What the server of these tests serves.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use dubbo_core::{
    codegen::ProtoJson,
    provider::Service,
    request::Response,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
};
use dubbo_test::peer::h2::envelope;
use futures_util::StreamExt as _;
use prost::Message as _;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// The bytes of a message, and a number.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
pub(crate) struct Parcel {
    #[prost(uint64, tag = "1")]
    #[serde(default)]
    pub(crate) number: u64,
    #[prost(bytes = "bytes", tag = "2")]
    #[serde(skip)]
    pub(crate) bytes: Bytes,
}

/// Gives back what it gets.
pub(crate) const ECHO: &str = "/limits.Parcels/Echo";
/// Gives so many bytes.
pub(crate) const GIVE: &str = "/limits.Parcels/Give";
/// Streams parcels of 64 KiB, so many of them.
pub(crate) const STREAM: &str = "/limits.Parcels/Stream";
/// Takes one parcel of a stream for each call of [`STEP`], and gives their number.
pub(crate) const TAKE: &str = "/limits.Parcels/Take";
/// Lets [`TAKE`] take so many more.
pub(crate) const STEP: &str = "/limits.Parcels/Step";
/// Gives the number of parcels that were made for streams, or taken from them, so far.
pub(crate) const PROGRESS: &str = "/limits.Parcels/Progress";
/// Never answers, and never looks at a request.
pub(crate) const HANG: &str = "/limits.Parcels/Hang";

/// How large the parcels of a stream are.
pub(crate) const PARCEL: usize = 64 << 10;

/// What a call of a parcel sends.
pub(crate) fn request(number: u64, bytes: impl Into<Bytes>) -> Bytes {
    let bytes = bytes.into();
    envelope(&Parcel { number, bytes }.encode_to_vec())
}

/// The number in the one message of `body`.
pub(crate) fn number(body: &[u8]) -> u64 {
    let message = body.get(5..).expect("an envelope");
    Parcel::decode(message).expect("a parcel").number
}

type P = ProtoJson<Parcel>;

pub(crate) fn parcels() -> Service {
    let methods = [
        ("Echo", CallKind::Unary),
        ("Give", CallKind::Unary),
        ("Stream", CallKind::ServerStream),
        ("Take", CallKind::ClientStream),
        ("Step", CallKind::Unary),
        ("Progress", CallKind::Unary),
        ("Hang", CallKind::ClientStream),
    ]
    .map(|(name, kind)| MethodDescriptor::new(name, kind));
    let descriptor = Arc::new(ServiceDescriptor::new("limits.Parcels", methods.to_vec()));
    let progress = Arc::new(AtomicU64::new(0));
    let (made, taken, so_far) = (progress.clone(), progress.clone(), progress);
    let steps = Arc::new(Semaphore::new(0));
    let more = Arc::clone(&steps);
    Service::builder(descriptor, "Parcels")
        .unary::<P, P, _, _>(
            0,
            |request| async move { Ok(request.into_message().into()) },
        )
        .unary::<P, P, _, _>(1, |request| async move {
            let len = usize::try_from(request.message().number);
            let len = len.map_err(|error| Status::invalid_argument(error.to_string()))?;
            let bytes = vec![0; len].into();
            Ok(Parcel { number: 0, bytes }.into())
        })
        .server_stream::<P, P, _, _>(2, move |request| {
            let made = Arc::clone(&made);
            let bytes = Bytes::from(vec![0; PARCEL]);
            let parcels = (0..request.message().number).map(move |number| {
                made.fetch_add(1, Ordering::SeqCst);
                let bytes = bytes.clone();
                Ok(Parcel { number, bytes })
            });
            let parcels = futures_util::stream::iter(parcels);
            std::future::ready(Ok(Response::stream(parcels)))
        })
        .client_stream::<P, P, _, _>(3, move |request| {
            let (taken, steps) = (Arc::clone(&taken), Arc::clone(&steps));
            async move {
                let mut number = 0;
                let mut parcels = request.into_message();
                loop {
                    let step = steps.acquire().await.expect("never closed");
                    step.forget();
                    let Some(parcel) = parcels.next().await else {
                        break;
                    };
                    parcel?;
                    number += 1;
                    taken.fetch_add(1, Ordering::SeqCst);
                }
                let bytes = Bytes::new();
                Ok(Parcel { number, bytes }.into())
            }
        })
        .unary::<P, P, _, _>(4, move |request| {
            let number = request.message().number;
            more.add_permits(usize::try_from(number).unwrap_or(0));
            let bytes = Bytes::new();
            std::future::ready(Ok(Parcel { number, bytes }.into()))
        })
        .unary::<P, P, _, _>(5, move |_| {
            let number = so_far.load(Ordering::SeqCst);
            let bytes = Bytes::new();
            std::future::ready(Ok(Parcel { number, bytes }.into()))
        })
        .client_stream::<P, P, _, _>(6, |request| async move {
            let _unread = request;
            std::future::pending().await
        })
        .build()
}
