//! References of the `dubbo` protocol to a scripted provider, over sockets. What takes time is tested beside the code, on
//! a clock that the tests turn.

mod golden;
mod recovery;
mod sizes;
mod support;
mod texts;
