//! A client is given something else than the request.

mod greet {
    include!("generated/greet.rs");
}

async fn call(greeter: greet::GreeterClient) {
    let _ = greeter.greet("a").await;
}

fn main() {
    let _ = call;
}
