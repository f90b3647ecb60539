//! One attempt to carry a call over a connection of HTTP/1.1.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dubbo_core::invocation::Reply;
use http::Request;

use super::{
    Lanes, Received,
    body::{Fault, Messages, RequestBody},
    failure::{describe, lost},
};
use crate::triple::client::{
    carrier::Carrier,
    exchange::{Outgoing, Terms, read},
    failure::{Failure, not_sent},
    life::Life,
    replies::Keep,
    source::Source,
};

impl Carrier for Lanes {
    fn life(&self) -> &Life {
        &self.life
    }

    async fn carry(
        self: &Arc<Self>,
        call: &mut Outgoing,
        terms: &Terms,
        sent: &AtomicBool,
        keep: impl FnOnce() -> Keep + Send,
    ) -> Result<Reply, Failure> {
        let (message, compression) = call.write(terms)?;
        let lane = self.lane().await;
        let mut lane = lane.map_err(|failure| failure.map(|status| call.place.name(status)))?;
        let head = call.head(terms, compression)?;
        let (body, fault) = match call.take_messages() {
            Some(stream) => {
                let fault = Arc::<Fault>::default();
                let (method, manner) = (&call.place.method, terms.heads.manner);
                let messages = Messages {
                    stream,
                    sending: manner.sending(method, terms.limits.send),
                    form: manner.form(method),
                    place: call.place.clone(),
                    fault: Arc::clone(&fault),
                };
                (RequestBody::Many(Box::new(messages)), Some(fault))
            }
            None => (RequestBody::One(message), None),
        };
        sent.store(true, Ordering::Relaxed);
        // The connection may end with the answer, and be judged before that is seen here.
        self.life.note_use();
        let request = Request::from_parts(head.into_parts().0, body);
        let response = match lane.sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut failed) => {
                let untouched = failed.take_message();
                let error = failed.into_error();
                return Err(match untouched {
                    // The connection ended before it was begun.
                    Some(request) => {
                        call.put_back(request.into_body().into_stream());
                        let status = not_sent(&describe(&error)).with_source(error);
                        Failure::ConnectionGone(call.place.name(status))
                    }
                    None => Failure::Final(call.place.name(lost(error, fault.as_deref()))),
                });
            }
        };
        let (head, body) = response.into_parts();
        let source = Source::Http1(Received::new(body, lane, fault));
        read(&call.place, (head, source), None, terms, keep).await
    }
}
