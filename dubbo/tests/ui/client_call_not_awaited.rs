//! A call is written and never awaited.

#![deny(unused_must_use)]

mod greet {
    include!("generated/greet.rs");
}

async fn call(greeter: greet::GreeterClient) {
    greeter.greet(greet::GreetRequest::default());
}

fn main() {
    let _ = call;
}
