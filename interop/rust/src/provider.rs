//! The behaviour that the contract asks of a provider.

use std::{future, time::Duration};

use dubbo::{Code, Request, Response, Status, Streaming};
use futures_util::{Stream, stream};
use pbjson_types::Empty;
use tokio::time::sleep;

use crate::{
    CASE_KEY,
    contract::{
        self, Attachment, AttachmentsRequest, AttachmentsResponse, BigPayloadRequest,
        BigPayloadResponse, EchoMessage, FailDetail, FailRequest, GreetRequest, GreetResponse,
        PingMessage, SleepRequest, SleepResponse, fail_request,
    },
    headers,
    held::{Held, case_of},
    pattern,
};

/// Implements the service.
#[derive(Debug)]
pub struct Greeter {
    suffix: String,
    work: Duration,
}

impl Greeter {
    /// The export without group and version.
    pub fn plain() -> Self {
        Self::with_suffix("")
    }

    /// The export of group `g1`, version `1.0.0`.
    pub fn grouped() -> Self {
        Self::with_suffix(" from g1/1.0.0")
    }

    /// One whose answers end with `suffix`.
    pub fn with_suffix(suffix: impl Into<String>) -> Self {
        Self {
            suffix: suffix.into(),
            work: Duration::ZERO,
        }
    }

    /// Takes so long for each `Greet`.
    pub fn working(self, work: Duration) -> Self {
        Self { work, ..self }
    }
}

impl contract::Greeter for Greeter {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        if !self.work.is_zero() {
            sleep(self.work).await;
        }
        let greeting = format!("hello {}{}", request.message().name, self.suffix);
        Ok(GreetResponse { greeting, seq: 0 }.into())
    }

    async fn lower_case(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let greeting = format!("lower {}", request.message().name);
        Ok(GreetResponse { greeting, seq: 0 }.into())
    }

    async fn greet_server_stream(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let held = Held::new(request.attachments(), "GreetServerStream");
        let case = case_of(request.attachments());
        let items = greetings(request.into_message(), held);
        Ok(Response::stream(items).trailer(CASE_KEY, case))
    }

    async fn greet_client_stream(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        let held = Held::new(request.attachments(), "GreetClientStream");
        let case = case_of(request.attachments());
        let mut requests = request.into_message();
        let mut names = Vec::new();
        while let Some(request) = requests.message().await? {
            if request.name == "fail" {
                held.done();
                return Err(as_asked(request.fail_code));
            }
            names.push(request.name);
        }
        held.done();
        let answer = GreetResponse {
            greeting: format!("hello {}", names.join(",")),
            seq: count(names.len()),
        };
        Ok(Response::new(answer).trailer(CASE_KEY, case))
    }

    async fn greet_bidi(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let held = Held::new(request.attachments(), "GreetBidi");
        let case = case_of(request.attachments());
        let items = answers(request.into_message(), held);
        Ok(Response::stream(items).trailer(CASE_KEY, case))
    }

    async fn echo(&self, request: Request<EchoMessage>) -> Result<Response<EchoMessage>, Status> {
        Ok(request.into_message().into())
    }

    async fn ping(&self, request: Request<PingMessage>) -> Result<Response<PingMessage>, Status> {
        Ok(request.into_message().into())
    }

    async fn fail(&self, request: Request<FailRequest>) -> Result<Response<Empty>, Status> {
        let asked = request.message();
        match asked.kind() {
            fail_request::Kind::Status => {
                let code = Code::from_number(asked.code.unsigned_abs());
                let status = Status::new(code, asked.message.clone());
                Err((0..)
                    .zip(&asked.details)
                    .fold(status, |status, (index, text)| {
                        let text = text.clone();
                        status.with_detail(&FailDetail { text, index })
                    }))
            }
            fail_request::Kind::Plain => Err(Status::business(&asked.message)),
            fail_request::Kind::Panic => panic!("{}", asked.message),
            fail_request::Kind::Context => {
                let _held = Held::new(request.attachments(), "Fail");
                future::pending().await
            }
        }
    }

    async fn sleep(
        &self,
        request: Request<SleepRequest>,
    ) -> Result<Response<SleepResponse>, Status> {
        let held = Held::new(request.attachments(), "Sleep");
        let slept_millis = request.message().millis;
        sleep(millis(slept_millis)).await;
        held.done();
        Ok(SleepResponse { slept_millis }.into())
    }

    async fn big_payload(
        &self,
        request: Request<BigPayloadRequest>,
    ) -> Result<Response<BigPayloadResponse>, Status> {
        let asked = request.message();
        let size = usize::try_from(asked.response_size)
            .map_err(|_| Status::invalid_argument("response_size is negative"))?;
        let answer = BigPayloadResponse {
            payload: pattern(size).into(),
            received: count(asked.payload.len()),
        };
        Ok(answer.into())
    }

    async fn attachments(
        &self,
        request: Request<AttachmentsRequest>,
    ) -> Result<Response<AttachmentsResponse>, Status> {
        let seen = headers::pairs(request.attachments())
            .into_iter()
            .map(|(key, value)| Attachment { key, value })
            .collect();
        let mut response = Response::new(AttachmentsResponse { seen });
        let asked = request.into_message();
        for Attachment { key, value } in &asked.reply {
            let (name, value) = headers::parse(key, value);
            response = if asked.as_header {
                response.header(name, value)
            } else {
                response.trailer(name, value)
            };
        }
        Ok(response)
    }
}

fn greetings(
    asked: GreetRequest,
    held: Held,
) -> impl Stream<Item = Result<GreetResponse, Status>> + Send {
    stream::unfold(Some((held, 0)), move |state| {
        let asked = asked.clone();
        async move {
            let (held, seq) = state?;
            if asked.fail_after > 0 && seq == asked.fail_after {
                held.done();
                return Some((Err(as_asked(asked.fail_code)), None));
            }
            if seq >= asked.count {
                held.done();
                return None;
            }
            if asked.delay_millis > 0 {
                sleep(millis(asked.delay_millis.into())).await;
            }
            let greeting = format!("hello {} #{seq}", asked.name);
            Some((Ok(GreetResponse { greeting, seq }), Some((held, seq + 1))))
        }
    })
}

fn answers(
    requests: Streaming<GreetRequest>,
    held: Held,
) -> impl Stream<Item = Result<GreetResponse, Status>> + Send {
    stream::unfold(Some((requests, held, 0)), |state| async move {
        let (mut requests, held, seq) = state?;
        match requests.message().await {
            Ok(Some(request)) if request.name == "fail" => {
                held.done();
                Some((Err(as_asked(request.fail_code)), None))
            }
            Ok(Some(request)) => {
                let greeting = format!("hello {}", request.name);
                let answer = GreetResponse { greeting, seq };
                Some((Ok(answer), Some((requests, held, seq + 1))))
            }
            Ok(None) => {
                held.done();
                None
            }
            Err(status) => Some((Err(status), None)),
        }
    })
}

fn as_asked(code: i32) -> Status {
    Status::new(
        Code::from_number(code.unsigned_abs()),
        "stream failed as asked",
    )
}

fn millis(count: i64) -> Duration {
    Duration::from_millis(count.try_into().unwrap_or(0))
}

fn count(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}
