//! `dubbo call`: one call, with JSON in and out.

use std::{
    fs,
    io::{self, Read as _},
    pin::pin,
};

use serde_json::json;

use crate::{
    callee::{CallOptions, Callee, attachments_json, split_method},
    console::Console,
    fail::Failure,
    reach::{self, Reach, Target},
};

/// Calls a method with JSON, and prints its answer as JSON
///
/// The service may be that of a proto file, whose messages are taken from the server's reflection or from `--descriptor`, or
/// a Java interface, on `tri://` and `dubbo://`: then the input is the array of its arguments, and what is no array is the
/// only one. An answer that is a stream is one line for each message.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "dubbo call [OPTIONS] [tri://HOST:PORT|dubbo://HOST:PORT] SERVICE/METHOD [JSON|@FILE|-]"
)]
pub(crate) struct Args {
    /// The address, unless there is a registry; the service and its method; the input: JSON, `@FILE`, or `-` for standard
    /// input
    #[arg(required = true, num_args = 1..=3, value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    options: CallOptions,
    /// Prints headers and trailers on standard error
    #[arg(short, long)]
    verbose: bool,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let (target, words) = Target::split(&self.words)?;
        let (method, input) = method_and_input(words)?;
        let instance = self.reach.instance(target.as_ref())?;
        let called = self.call(console, &instance, target.as_ref(), method, input);
        let done = until_interrupted(called).await;
        reach::end(instance).await;
        done
    }

    async fn call(
        &self,
        console: &Console,
        instance: &dubbo::Instance,
        target: Option<&Target>,
        method: (&str, &str),
        input: String,
    ) -> Result<(), Failure> {
        let callee = Callee::find(instance, &self.reach, target, method, &self.options).await?;
        let input = callee.input(&input)?;
        let is_compact = console.is_json() || callee.streams();
        let print = |message: serde_json::Value| {
            if is_compact {
                console.line(&message)
            } else {
                console.line(&format!("{message:#}"))
            }
        };
        let beside = callee.call(&input, &self.options, print).await?;
        if self.verbose {
            console.note(&json!({
                "headers": attachments_json(&beside.headers),
                "trailers": attachments_json(&beside.trailers),
            }));
        }
        Ok(())
    }
}

/// The service with its method, and the input that the words behind it say.
pub(crate) fn method_and_input(words: &[String]) -> Result<((&str, &str), String), Failure> {
    match words {
        [method] => Ok((split_method(method)?, String::new())),
        [method, input] => Ok((split_method(method)?, read(input)?)),
        [] => Err(Failure::usage("it is not said which method is called")
            .advise("write `package.Service/Method` behind the address")),
        [.., last] => Err(Failure::usage(format!("`{last}` is one word too many"))
            .advise("put the JSON between quotes")),
    }
}

/// Does `work` until somebody types Ctrl-C: then what has been begun is taken back.
pub(crate) async fn until_interrupted<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let work = pin!(work);
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::no("interrupted")),
    }
}

fn read(input: &str) -> Result<String, Failure> {
    let unreadable = |what: &str, error: io::Error| {
        Failure::usage(format!("cannot read the input from {what}: {error}"))
    };
    if input == "-" {
        let mut text = String::new();
        let read = io::stdin().lock().read_to_string(&mut text);
        return match read {
            Ok(_) => Ok(text),
            Err(error) => Err(unreadable("standard input", error)),
        };
    }
    match input.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).map_err(|error| unreadable(file, error)),
        None => Ok(input.to_owned()),
    }
}
