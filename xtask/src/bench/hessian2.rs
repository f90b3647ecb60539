//! The Hessian codec: ours, dubbo-go-hessian2 and hessian-lite, writing and reading the same values in turn.
//!
//! Each is a program that obeys these commands, one a line, with `NAME` of a value:
//!
//! | command | answer |
//! |---|---|
//! | `write NAME` | the bytes of the value, in hexadecimal |
//! | `read NAME HEX` | `same` if the bytes are the value; `decode` reads them from now on |
//! | `encode NAME MILLIS` | writes the value for that long: the nanoseconds it takes |
//! | `decode NAME MILLIS` | reads the value for that long: the nanoseconds it takes |
//!
//! Ours runs twice. The ratios without a suffix are made with mimalloc, because services that allocate much choose such an
//! allocator, as Go and Java bring one that is made for much allocating; this framework brings none, so a program gets them
//! only if it chooses so too. Those with `.system_allocator` behind the name are made with the system's, which a program has
//! by default. What is read is freed within the time.
//!
//! `map1000` is a `HashMap` with the hasher of the standard library, which takes a quarter of the time to read it. A program
//! that trusts the keys may read into one with another: the codec takes any hasher.
//!
//! Before anything is timed, each reads what each has written, and what we have written is what Java has written.

use std::process::Command;

use serde_json::{Map, Value, json};

use super::{median, round, worker::Worker, write_report};
use crate::{
    failure::Failure,
    interop,
    process::{self, Stopwatch},
};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    let mut workers = start_workers()?;
    for (name, order) in VALUES {
        compare(&mut workers, name, order)?;
    }
    for worker in &mut workers {
        warm_up(worker)?;
    }

    let mut figures = Map::new();
    let mut ratios = Map::new();
    println!("nanoseconds a value, and how many times as long as ours, of either allocator\n");
    print!("{:<8}{:<15}", "", "");
    for worker in &workers {
        print!(" {:>17}", worker.name);
    }
    println!();
    for direction in DIRECTIONS {
        for (value, _) in VALUES {
            let nanos = measure(&mut workers, direction, value)?;
            print!("{direction:<8}{value:<15}");
            for (worker, nanos) in workers.iter().zip(&nanos) {
                print!(" {nanos:>17.0}");
                figures.insert(
                    format!("{direction}.{value}.{}.nanoseconds", worker.name),
                    json!(round(*nanos)),
                );
            }
            for (worker, their) in workers.iter().zip(&nanos).skip(OURS.len()) {
                let key = format!("{direction}.{value}.vs_{}", worker.name);
                for (our, suffix) in nanos.iter().zip(["", ".system_allocator"]) {
                    let ratio = round(their / our);
                    print!(" {ratio:>6.2}");
                    ratios.insert(format!("{key}{suffix}"), json!(ratio));
                }
                print!(" x");
            }
            println!();
        }
    }
    let written = write_report("hessian2", &Value::Object(ratios), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}

/// Ours first: they are what the others are compared with.
fn start_workers() -> Result<Vec<Worker>, Failure> {
    process::run(
        &mut process::cargo(["build", "--release", "--package=bench"]),
        "see what cargo said above",
    )?;
    let release = process::target_dir().join("release");
    let mut workers = Vec::new();
    for (name, program) in OURS {
        let mut command = Command::new(release.join(program));
        workers.push(Worker::start(name, &mut command)?);
    }
    workers.push(Worker::start(
        "dubbo_go_hessian2",
        &mut Command::new(interop::go_program("hessian-bench")?),
    )?);
    workers.push(Worker::start(
        "hessian_lite",
        &mut interop::java_command("org.apache.dubbo.interop.HessianBench")?,
    )?);
    Ok(workers)
}

/// Lets each read what each has written. The last is Java, whose bytes are then what is timed.
fn compare(workers: &mut [Worker], value: &str, order: Order) -> Result<(), Failure> {
    let mut written = Vec::new();
    for worker in workers.iter_mut() {
        written.push(worker.ask(&format!("write {value}"))?);
    }
    let (ours, javas) = (written.first(), written.last());
    let alike = match order {
        Order::Fixed => ours == javas,
        Order::Any => ours.map(String::len) == javas.map(String::len),
    };
    if !alike {
        return Err(Failure::new(
            format!("we do not write `{value}` as hessian-lite does"),
            "compare what the programs answer to `write`",
        ));
    }
    for bytes in &written {
        for worker in workers.iter_mut() {
            let answer = worker.ask(&format!("read {value} {bytes}"))?;
            if answer != "same" {
                return Err(Failure::new(
                    format!("`{}` reads `{value}` as something else", worker.name),
                    "the programs must have the same values",
                ));
            }
        }
    }
    Ok(())
}

/// For longer than compilers at run time need.
fn warm_up(worker: &mut Worker) -> Result<(), Failure> {
    for _ in 0..2 {
        for (name, _) in VALUES {
            for direction in DIRECTIONS {
                worker.ask(&format!("{direction} {name} {WARM_UP_MILLIS}"))?;
            }
        }
    }
    Ok(())
}

/// Every worker gets every round, in turn, so that whatever else the machine does hits all of them.
fn measure(workers: &mut [Worker], direction: &str, value: &str) -> Result<Vec<f64>, Failure> {
    let mut rounds = vec![Vec::new(); workers.len()];
    for _ in 0..ROUNDS {
        for (worker, rounds) in workers.iter_mut().zip(&mut rounds) {
            let [nanos] = worker.ask_numbers(&format!("{direction} {value} {ROUND_MILLIS}"))?;
            rounds.push(nanos);
        }
    }
    Ok(rounds.into_iter().map(median).collect())
}

/// Whether the parts of a value are always written in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Any,
    Fixed,
}

const OURS: [(&str, &str); 2] = [
    ("ours", "bench-hessian2"),
    ("ours_system", "bench-hessian2-system"),
];
/// `string1m` is mostly ASCII, with some Chinese and an emoji.
const VALUES: [(&str, Order); 6] = [
    ("pojo", Order::Fixed),
    ("nested", Order::Fixed),
    ("list1000", Order::Fixed),
    ("string1m", Order::Fixed),
    ("string1m_ascii", Order::Fixed),
    ("map1000", Order::Any),
];
const DIRECTIONS: [&str; 2] = ["decode", "encode"];
const ROUNDS: u32 = 7;
const ROUND_MILLIS: u32 = 200;
const WARM_UP_MILLIS: u32 = 400;
