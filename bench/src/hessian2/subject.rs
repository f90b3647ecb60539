//! A value that is written and read over and over.

use std::{
    fmt::{self, Write as _},
    hint::black_box,
    time::Duration,
};

use dubbo_hessian2::{FromHessian, ToHessian, from_slice, to_vec};

use crate::clock::Clock;

/// What can be asked of a value, whatever its type.
pub(crate) trait Measured {
    /// Its bytes in hexadecimal.
    fn write(&self) -> Result<String, String>;

    /// Whether these bytes are the value. They are what [`decode`](Self::decode) reads.
    fn read(&mut self, hex: &str) -> Result<String, String>;

    /// Nanoseconds to write it.
    fn encode(&self, time: Duration) -> Result<String, String>;

    /// Nanoseconds to read it.
    fn decode(&self, time: Duration) -> Result<String, String>;
}

/// A value, and the bytes that it is read from.
pub(crate) struct Subject<T> {
    pub(crate) value: T,
    pub(crate) bytes: Vec<u8>,
}

impl<T: ToHessian + FromHessian + PartialEq> Measured for Subject<T> {
    fn write(&self) -> Result<String, String> {
        let bytes = to_vec(&self.value).map_err(text)?;
        let mut hex = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            write!(hex, "{byte:02x}").map_err(text)?;
        }
        Ok(hex)
    }

    fn read(&mut self, hex: &str) -> Result<String, String> {
        self.bytes = (0..hex.len() / 2)
            .map(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16))
            .collect::<Result<_, _>>()
            .map_err(text)?;
        let same = from_slice::<T>(&self.bytes).map_err(text)? == self.value;
        Ok(if same { "same" } else { "other" }.to_owned())
    }

    fn encode(&self, time: Duration) -> Result<String, String> {
        measure(time, || to_vec(black_box(&self.value)).map_err(text))
    }

    fn decode(&self, time: Duration) -> Result<String, String> {
        measure(time, || {
            from_slice::<T>(black_box(&self.bytes)).map_err(text)
        })
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// Nanoseconds a run. What a run gives is dropped in its time: others have collectors for that.
fn measure<R>(limit: Duration, run: impl Fn() -> Result<R, String>) -> Result<String, String> {
    let clock = Clock::start();
    let mut elapsed = Duration::ZERO;
    let (mut runs, mut batch) = (0_u32, 1);
    while elapsed < limit {
        for _ in 0..batch {
            black_box(run()?);
        }
        runs += batch;
        let now = clock.elapsed();
        if now < elapsed + BATCH {
            batch *= 2;
        }
        elapsed = now;
    }
    Ok((elapsed.as_secs_f64() * 1e9 / f64::from(runs)).to_string())
}

/// How often the clock is looked at.
const BATCH: Duration = Duration::from_micros(500);
