//! A type is served that implements no service.

mod greet {
    include!("generated/greet.rs");
}

struct Hello;

fn main() {
    greet::GreeterServer::new(Hello);
}
