//! Calls that are asked for line by line, by clients that a file configures as a user's program is configured.

use std::{
    collections::BTreeMap,
    error::Error,
    io::{self, BufRead as _},
    path::Path,
    time::Duration,
};

use dubbo::{Call, Instance, Response, Status, config::LoadOptions};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::calls::named;
use crate::{
    contract::{AttachmentsRequest, GreeterClient, SleepRequest},
    user::UserServiceClient,
};

/// Reads lines from the standard input until it ends, makes the calls that each asks for, and prints a line for each:
/// `interop/README.md` describes both. The clients are what `config` makes of them.
///
/// # Errors
///
/// What the framework has against the configuration, or a line that asks for nothing known.
pub async fn obey(config: &Path) -> Result<(), Box<dyn Error>> {
    let instance = Instance::load_with(&LoadOptions::path(config))?.build()?;
    let clients = Clients {
        greeter: instance.refer().await?,
        user: instance.refer().await?,
    };
    println!("{}", json!({"event": "ready"}));
    let mut lines = input();
    while let Some(line) = lines.recv().await {
        let wish = Wish::read(&line).ok_or_else(|| format!("cannot be understood: {line}"))?;
        println!("{}", clients.make(&wish).await.to_json());
    }
    instance.shutdown(Duration::ZERO).await;
    Ok(())
}

struct Clients {
    greeter: GreeterClient,
    user: UserServiceClient,
}

/// What a line asks for.
struct Wish {
    over_dubbo: bool,
    method: Method,
    until: Until,
    at_once: usize,
    attachments: Vec<(String, String)>,
}

#[derive(Clone, Copy)]
enum Method {
    /// Says who answers.
    Hello,
    /// Says what came with the call.
    Attachments,
    /// Is answered after so many milliseconds.
    Sleep(i64),
}

#[derive(Clone, Copy)]
enum Until {
    /// So many calls were made.
    Calls(u64),
    /// So much time has passed.
    After(Duration),
}

/// What became of the calls of a line.
#[derive(Default)]
struct Account {
    calls: u64,
    /// How many each provider has answered.
    by: BTreeMap<String, u64>,
    /// How often each error came.
    errors: BTreeMap<String, u64>,
    /// What came with the last call that tells.
    seen: Vec<String>,
}

impl Clients {
    /// Makes the calls, each line of them one after the other.
    async fn make(&self, wish: &Wish) -> Account {
        let start = Instant::now();
        let share = |index: usize| match wish.until {
            Until::Calls(calls) => {
                let lines = wish.at_once as u64;
                calls / lines + u64::from((index as u64) < calls % lines)
            }
            Until::After(_) => u64::MAX,
        };
        let is_over = || matches!(wish.until, Until::After(time) if start.elapsed() >= time);
        let lines = (0..wish.at_once).map(|index| async move {
            let mut account = Account::default();
            while account.calls < share(index) && !is_over() {
                self.call(wish, &mut account).await;
            }
            account
        });
        let mut all = Account::default();
        for account in join_all(lines).await {
            all.add(account);
        }
        all
    }

    async fn call(&self, wish: &Wish, account: &mut Account) {
        account.calls += 1;
        let outcome = if wish.over_dubbo {
            self.call_user(wish, account).await
        } else {
            self.call_greeter(wish, account).await
        };
        if let Err(status) = outcome {
            let error = format!("{}: {}", status.code(), status.message());
            *account.errors.entry(error).or_default() += 1;
        }
    }

    async fn call_greeter(&self, wish: &Wish, account: &mut Account) -> Result<(), Status> {
        match wish.method {
            Method::Hello => {
                let answer = wish.attach(self.greeter.greet(named("dubbo"))).await?;
                account.answered(&answer.message().greeting);
            }
            Method::Attachments => {
                let request = AttachmentsRequest::default();
                let answer = wish.attach(self.greeter.attachments(request)).await?;
                let seen = answer.into_message().seen.into_iter();
                account.seen = seen.map(|it| format!("{}: {}", it.key, it.value)).collect();
            }
            Method::Sleep(millis) => {
                wish.attach(self.greeter.sleep(SleepRequest { millis }))
                    .await?;
            }
        }
        Ok(())
    }

    async fn call_user(&self, wish: &Wish, account: &mut Account) -> Result<(), Status> {
        match wish.method {
            Method::Hello => {
                let answer = wish.attach(self.user.hello("dubbo".to_owned())).await?;
                account.answered(answer.message());
            }
            Method::Attachments => {
                let answer = wish
                    .attach(self.user.attachments("reply".to_owned()))
                    .await?;
                let seen = answer.into_message().into_iter();
                account.seen = seen
                    .map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default()))
                    .collect();
            }
            Method::Sleep(millis) => {
                wish.attach(self.user.sleep(millis)).await?;
            }
        }
        Ok(())
    }
}

impl Wish {
    fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let millis = |name: &str| line[name].as_u64().map(Duration::from_millis);
        let attachments = line["attach"].as_object().into_iter().flatten();
        Some(Self {
            over_dubbo: match line["protocol"].as_str()? {
                "tri" => false,
                "dubbo" => true,
                _ => return None,
            },
            method: match line["method"].as_str()? {
                "hello" => Method::Hello,
                "attachments" => Method::Attachments,
                "sleep" => Method::Sleep(line["sleep"].as_i64()?),
                _ => return None,
            },
            until: match (line["calls"].as_u64(), millis("millis")) {
                (Some(calls), None) => Until::Calls(calls),
                (None, Some(time)) => Until::After(time),
                _ => return None,
            },
            at_once: usize::try_from(line["at_once"].as_u64()?)
                .ok()
                .filter(|n| *n > 0)?,
            attachments: attachments
                .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect::<Option<_>>()?,
        })
    }

    fn attach<'c, O>(&self, call: Call<'c, Response<O>>) -> Call<'c, Response<O>> {
        let attachments = self.attachments.iter();
        attachments.fold(call, |call, (name, value)| {
            call.attach(name.clone(), value.clone())
        })
    }
}

impl Account {
    fn answered(&mut self, answer: &str) {
        let by = answer.split_once(" from ").map_or("", |(_, name)| name);
        *self.by.entry(by.to_owned()).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        for (name, calls) in other.by {
            *self.by.entry(name).or_default() += calls;
        }
        for (error, times) in other.errors {
            *self.errors.entry(error).or_default() += times;
        }
        if !other.seen.is_empty() {
            self.seen = other.seen;
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "event": "done", "calls": self.calls, "by": self.by, "errors": self.errors, "seen": self.seen,
        })
    }
}

/// The lines of the standard input.
fn input() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
