//! Streams of responses in the hands of tasks, whatever they are made of.

use std::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll},
};

use dubbo::{Request, Response, Status, Streaming};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterServer};
use futures_core::Stream;

use super::rig::{consume, provide, request, url_of};

/// A stream that may move between threads but not be shared by them.
struct Unshared {
    left: Cell<u32>,
    /// A future that is not `Sync` either.
    turn: Pin<Box<dyn Future<Output = u32> + Send>>,
}

impl Unshared {
    fn of(items: u32) -> Self {
        Self {
            left: Cell::new(items),
            turn: Box::pin(turn(items)),
        }
    }
}

/// Holds a `Cell` over an await.
async fn turn(number: u32) -> u32 {
    let cell = Cell::new(number);
    tokio::task::yield_now().await;
    cell.get()
}

impl Stream for Unshared {
    type Item = Result<GreetResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left.get() == 0 {
            return Poll::Ready(None);
        }
        self.turn.as_mut().poll(cx).map(|number| {
            self.left.set(number - 1);
            self.turn = Box::pin(turn(number - 1));
            Some(Ok(GreetResponse {
                greeting: number.to_string(),
            }))
        })
    }
}

struct Countdown;

impl Greeter for Countdown {
    async fn greet(&self, _: Request<GreetRequest>) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("a stream is wanted"))
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let items = request
            .message()
            .name
            .parse()
            .map_err(|_| Status::invalid_argument("no number"))?;
        Ok(Response::stream(Unshared::of(items)))
    }

    async fn greet_all(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("a stream is wanted"))
    }

    async fn greet_each(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let mut requests = request.into_message();
        let mut sum = 0;
        while let Some(request) = requests.message().await? {
            sum += request.name.parse::<u32>().unwrap_or_default();
        }
        Ok(Response::stream(Unshared::of(sum)))
    }
}

/// Requests out of a `Cell`.
struct Requests(Cell<u32>);
impl Stream for Requests {
    type Item = GreetRequest;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<GreetRequest>> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        Poll::Ready((left > 0).then(|| request("1")))
    }
}

/// Reads a stream to its end in a task of its own.
async fn read(mut greetings: Streaming<GreetResponse>) -> Vec<String> {
    let reading = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(response) = greetings.message().await.expect("works") {
            seen.push(response.greeting);
        }
        seen
    });
    reading.await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_owns_a_stream_made_of_what_is_not_sync() {
    let provider = provide("", GreeterServer::new(Countdown)).await;
    let consumer = consume(&url_of(&provider), "").await;
    let greeter = &consumer;

    let greetings = greeter
        .greet_many(request("3"))
        .await
        .expect("works")
        .into_message();
    assert_eq!(read(greetings).await, ["3", "2", "1"]);

    let call = greeter.greet_each(Requests(Cell::new(2)));
    let greetings = call.await.expect("works").into_message();
    assert_eq!(read(greetings).await, ["2", "1"]);
}
