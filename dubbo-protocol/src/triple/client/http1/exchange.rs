//! One attempt to carry a call over a connection of HTTP/1.1.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dubbo_core::invocation::Reply;
use http::Request;

use super::{
    Lanes, Received,
    body::{Messages, RequestBody},
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
        let (body, upload) = match call.take_messages() {
            Some(stream) => {
                let (method, manner) = (&call.place.method, terms.heads.manner);
                let sending = manner.sending(method, terms.limits.send);
                let form = manner.form(method);
                let (messages, upload) = Messages::new(stream, sending, form, call.place.clone());
                (RequestBody::Many(Box::new(messages)), Some(upload))
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
                    None => Failure::Final(lost(error, upload.as_deref(), &call.place)),
                });
            }
        };
        let (head, body) = response.into_parts();
        let source = Source::Http1(Received::new(body, lane, upload));
        read(&call.place, (head, source), None, terms, keep).await
    }
}
