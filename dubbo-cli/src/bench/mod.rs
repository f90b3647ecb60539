//! `dubbo bench`: how fast a method answers.

mod histogram;
mod load;
mod report;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use self::load::{Load, Until};
use crate::{
    call::method_and_input,
    callee::{CallOptions, Callee},
    console::Console,
    duration,
    fail::Failure,
    reach::{self, Reach, Target},
};

/// Calls a method over and over, and prints how many calls a second there were and how long they took
///
/// In a closed loop, which is what there is without `--rate`, each of `--concurrency` callers makes its next call when the
/// last one is answered. In an open loop, calls begin at `--rate` whatever becomes of those before, and a call's time counts
/// from when it should have begun. Ctrl-C ends the measurement and prints what there is. It ends with exit code 1 if calls
/// failed.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "dubbo bench [OPTIONS] [tri://HOST:PORT|dubbo://HOST:PORT] SERVICE/METHOD [JSON|@FILE|-]"
)]
pub(crate) struct Args {
    /// The address, unless there is a registry; the service and its method; the input: JSON, `@FILE`, or `-` for standard
    /// input
    #[arg(required = true, num_args = 1..=3, value_name = "WORDS")]
    words: Vec<String>,
    /// How many calls are under way at once; in an open loop, at most, by default 1000
    #[arg(short, long, value_name = "N")]
    concurrency: Option<NonZeroU32>,
    /// How many calls begin each second, whatever becomes of them
    #[arg(short, long, value_name = "CALLS", value_parser = rate)]
    rate: Option<f64>,
    /// How long it takes, by default 10 s
    #[arg(short, long, value_name = "DURATION", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// How many calls there are, in place of a duration
    #[arg(short, long, value_name = "CALLS", conflicts_with = "duration")]
    number: Option<u64>,
    /// How long calls are made before any counts
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    warm_up: Duration,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    options: CallOptions,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let (target, words) = Target::split(&self.words)?;
        let (method, input) = method_and_input(words)?;
        let instance = self.reach.instance(target.as_ref())?;
        let measured = async {
            let options = &self.options;
            let target = target.as_ref();
            let callee = Callee::find(&instance, &self.reach, target, method, options).await?;
            let input = callee.input(&input)?;
            let load = Load::new(callee, input, options.clone());
            // What cannot be called at all is told as by `call`, not as a million failures.
            load.once().await?;
            self.measure(console, &Arc::new(load)).await
        };
        let measured = measured.await;
        reach::end(instance).await;
        measured
    }

    async fn measure(&self, console: &Console, load: &Arc<Load>) -> Result<(), Failure> {
        if !self.warm_up.is_zero() {
            let _ = self
                .load(load, Until::Time(self.warm_up), &ProgressBar::hidden())
                .await;
        }
        let until = match (self.number, self.duration) {
            (Some(number), _) => Until::Calls(number),
            (None, duration) => Until::Time(duration.unwrap_or(DURATION)),
        };
        let bar = bar(until);
        let taken = self.load(load, until, &bar).await;
        bar.finish_and_clear();
        let shape = report::Shape {
            concurrency: self.concurrency().get(),
            rate: self.rate,
        };
        console.show(|| report::json(&taken, shape), report::text(&taken, shape))?;
        match taken.failed() {
            0 => Ok(()),
            failed => Err(Failure::no(format!(
                "{failed} of {} calls failed",
                taken.calls()
            ))),
        }
    }

    async fn load(&self, load: &Arc<Load>, until: Until, bar: &ProgressBar) -> load::Taken {
        let most = self.concurrency().get();
        match self.rate {
            None => load.closed(most, until, bar).await,
            Some(rate) => load.open(rate, most, until, bar).await,
        }
    }

    fn concurrency(&self) -> NonZeroU32 {
        let default = if self.rate.is_some() { OPEN } else { CLOSED };
        self.concurrency.unwrap_or(default)
    }
}

/// The progress, on a terminal.
fn bar(until: Until) -> ProgressBar {
    let (length, template) = match until {
        Until::Calls(number) => (number, "{bar:40} {pos}/{len} calls, {per_sec}, {msg}"),
        Until::Time(duration) => {
            let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            (millis, "{bar:40} {elapsed}, {msg}")
        }
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=10_000_000.0).contains(&rate) => Ok(rate),
        _ => Err("write how many calls a second, from 0.001 to 10000000".to_owned()),
    }
}

/// How long a measurement takes.
const DURATION: Duration = Duration::from_secs(10);

/// How many callers there are in a closed loop.
const CLOSED: NonZeroU32 = NonZeroU32::new(10).expect("invariant: it is not zero");

/// How many calls may be under way in an open loop.
const OPEN: NonZeroU32 = NonZeroU32::new(1000).expect("invariant: it is not zero");
