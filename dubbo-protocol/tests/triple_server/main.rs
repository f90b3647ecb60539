//! The Triple server as its callers see it: every test talks to it over a socket, most through bare HTTP/2.

mod attachments;
mod calls;
mod cancellation;
mod connections;
mod deadlines;
mod errors;
mod exports;
mod framing;
mod greeter;
mod health;
mod limits;
mod negative_answers;
mod pace;
mod shutdown;
mod tonic_client;
mod wire;
