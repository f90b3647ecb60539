//! One field of the grid: all stacks in turn, end to end and then under the load generator.
//!
//! A client is a program that obeys the commands `ping SIZE MILLIS CALLERS` and `stream SIZE MILLIS CALLERS COUNT`: so many
//! callers call for that long, each at least once, with so many bytes, and for so many messages. It answers with the number
//! of calls or messages, the nanoseconds that they took, and the median and the 99th percentile of how long a call took, in
//! microseconds.

use crate::{
    bench::{h2load::Calls, median, usage},
    failure::Failure,
};

use super::{
    grid::{Cell, scratch},
    stacks::{Pair, Stack},
};

/// What one stack came to, of the median round.
#[derive(Debug)]
pub(super) struct Figure {
    /// Requests or messages a second.
    pub(super) rate: f64,
    /// In milliseconds, of calls.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// In microseconds for each request or message.
    pub(super) server_cpu: f64,
    /// The same of the client, where that is the stack's own.
    pub(super) client_cpu: Option<f64>,
    /// The most memory that the server had meanwhile, in MiB.
    pub(super) memory: f64,
}

/// Every stack gets every round, in turn, so that whatever else the machine does hits all of them. Clients look at each
/// answer, so this also shows that the servers give what is asked for. A peer of which every round fails has no figure.
pub(super) fn end_to_end(
    pairs: &mut [Pair],
    cell: Cell,
    rounds: u32,
) -> Result<Vec<Option<Figure>>, Failure> {
    let mut all: Vec<Rounds> = pairs.iter().map(|_| Rounds::default()).collect();
    let warm_up = cell.load.command(ROUND_MILLIS / 2, cell.concurrency);
    for pair in pairs.iter_mut() {
        let answer = pair.client.ask(&warm_up);
        let_off(pair, answer)?;
        usage::forget_peak(pair.server.name, pair.server.id())?;
    }
    let command = cell.load.command(ROUND_MILLIS, cell.concurrency);
    for round in 0..rounds {
        for at in turns(pairs.len(), round) {
            let (pair, measured) = (&mut pairs[at], &mut all[at]);
            let client = |pair: &Pair| usage::cpu_seconds(pair.client.name, pair.client.id());
            let server_before = pair.server.cpu_seconds()?;
            let client_before = client(pair)?;
            let answer = pair.client.ask_numbers(&command);
            let Some([count, nanos, p50, p99]) = let_off::<[f64; 4]>(pair, answer)? else {
                continue;
            };
            let used = pair.server.cpu_seconds()? - server_before;
            measured.server_cpu.push(used * 1e6 / count);
            let used = client(pair)? - client_before;
            measured.client_cpu.push(used * 1e6 / count);
            measured.rates.push(count * 1e9 / nanos);
            measured.p50.push(p50 / 1e3);
            measured.p99.push(p99 / 1e3);
        }
    }
    figures(pairs, all)
}

/// The same, with the load generator in place of their clients.
pub(super) fn server_side(
    pairs: &[Pair],
    cell: Cell,
    rounds: u32,
) -> Result<Vec<Option<Figure>>, Failure> {
    let body = cell.load.body()?;
    let (connections, streams) = cell.connections();
    let calls = |pair: &Pair| Calls {
        address: pair.server.address,
        path: cell.load.path(),
        body: &body,
        connections,
        streams,
    };
    let mut requests = Vec::new();
    for pair in pairs {
        let calls = calls(pair);
        // The first are to see how fast it may be at all.
        let rate = calls.rate(4 * cell.concurrency);
        let rate = rate.and_then(|rate| calls.rate(enough(rate, ROUND_MILLIS / 2, cell)));
        let rate = let_off(pair, rate)?;
        requests.push(rate.map(|rate| enough(rate, ROUND_MILLIS, cell)));
        usage::forget_peak(pair.server.name, pair.server.id())?;
    }
    let units = f64::from(cell.load.units());
    let mut all: Vec<Rounds> = pairs.iter().map(|_| Rounds::default()).collect();
    for round in 0..rounds {
        for at in turns(pairs.len(), round) {
            let (pair, measured) = (&pairs[at], &mut all[at]);
            let Some(requests) = requests[at] else {
                continue;
            };
            let before = pair.server.cpu_seconds()?;
            let Some(rate) = let_off(pair, calls(pair).rate(requests))? else {
                continue;
            };
            measured.rates.push(rate * units);
            let used = pair.server.cpu_seconds()? - before;
            let count = f64::from(requests) * units;
            measured.server_cpu.push(used * 1e6 / count);
        }
    }
    // How long calls take is told apart, because that slows the load generator down.
    for ((pair, measured), requests) in pairs.iter().zip(&mut all).zip(&requests) {
        let Some(requests) = *requests else { continue };
        let latencies = calls(pair).latencies(requests, &scratch("h2load.log"));
        let Some(latencies) = let_off(pair, latencies)? else {
            continue;
        };
        let percentile = |hundredth| {
            let at = (latencies.len() - 1) * hundredth / 100;
            f64::from(latencies[at]) / 1e3
        };
        measured.p50.push(percentile(50));
        measured.p99.push(percentile(99));
    }
    figures(pairs, all)
}

/// In which order the stacks have their turns: there and back again, so that each comes after either of its neighbours, and
/// ours never after the last one, which is Java, whose compiler goes on when its turn is over.
fn turns(stacks: usize, round: u32) -> Box<dyn Iterator<Item = usize>> {
    if round.is_multiple_of(2) {
        Box::new(0..stacks)
    } else {
        Box::new((0..stacks).rev())
    }
}

/// What went wrong with a peer is shown, and the others go on; ours is to go right.
pub(super) fn let_off<T>(pair: &Pair, result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(failure) if pair.stack == Stack::Dubbo => Err(failure),
        Err(failure) => {
            eprintln!("{} has failed: {failure}", pair.stack.name());
            Ok(None)
        }
    }
}

/// So many requests as take that long at that rate, and at least one for each call that may be under way.
fn enough(rate: f64, millis: u32, cell: Cell) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are positive, and what is larger than any number becomes the largest"
    )]
    let requests = (rate * f64::from(millis) / 1e3) as u32;
    requests.max(cell.concurrency)
}

/// What each round came to.
#[derive(Debug, Default)]
struct Rounds {
    rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    server_cpu: Vec<f64>,
    client_cpu: Vec<f64>,
}

fn figures(pairs: &[Pair], all: Vec<Rounds>) -> Result<Vec<Option<Figure>>, Failure> {
    let figure = |(pair, rounds): (&Pair, Rounds)| {
        if rounds.rates.is_empty() || rounds.p99.is_empty() {
            return Ok(None);
        }
        let client_cpu = rounds.client_cpu;
        Ok(Some(Figure {
            rate: median(rounds.rates),
            p50: median(rounds.p50),
            p99: median(rounds.p99),
            server_cpu: median(rounds.server_cpu),
            client_cpu: (!client_cpu.is_empty()).then(|| median(client_cpu)),
            memory: usage::peak_mib(pair.server.name, pair.server.id())?,
        }))
    };
    pairs.iter().zip(all).map(figure).collect()
}

const ROUND_MILLIS: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_never_has_its_turn_after_the_last_of_the_peers() {
        let order: Vec<usize> = (0..5).flat_map(|round| turns(3, round)).collect();
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2]);
    }
}
