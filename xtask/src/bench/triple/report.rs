//! Figures as they are shown, and as they are written down.

use serde_json::{Map, Value, json};

use crate::{bench::round, failure::Failure};

use super::{ends::Figure, grid::Cell, stacks::Stack};

/// What was measured so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) figures: Map<String, Value>,
    pub(super) ratios: Map<String, Value>,
    /// The ratios as a table: the key without the peer, and one for each peer that has a figure.
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Report {
    /// Adds a number that has no peer.
    pub(super) fn note(&mut self, key: &str, figure: f64) {
        self.figures.insert(key.to_owned(), json!(round(figure)));
    }

    /// Adds, and shows, what the stacks, ours first, came to in a field of the grid, at one of its [ends](Side).
    pub(super) fn add(
        &mut self,
        cell: Cell,
        side: Side,
        stacks: &[Stack],
        measured: &[Option<Figure>],
    ) {
        let unit = cell.load.unit();
        for (stack, figure) in stacks.iter().zip(measured) {
            let name = stack.name();
            let Some(figure) = figure else {
                println!(
                    "{:<7} {:>5} {:<6} {name:<9} {:>12}",
                    cell.load.label(),
                    cell.concurrency,
                    side.name,
                    "failed"
                );
                continue;
            };
            println!(
                "{:<7} {:>5} {:<6} {name:<9} {:>12.0} {:>9.2} {:>9.2} {:>10.2} {:>10} {:>9.1}",
                cell.load.label(),
                cell.concurrency,
                side.name,
                figure.rate,
                figure.p50,
                figure.p99,
                figure.server_cpu,
                figure
                    .client_cpu
                    .map_or_else(|| "-".to_owned(), |cpu| format!("{cpu:.2}")),
                figure.memory,
            );
            let key = format!("{}{}.{name}", side.prefix, cell.key());
            self.note(&format!("{key}.{unit}s_per_second"), figure.rate);
            self.note(&format!("{key}.cpu_us_per_{unit}"), figure.server_cpu);
            if let Some(cpu) = figure.client_cpu {
                self.note(&format!("{key}.client_cpu_us_per_{unit}"), cpu);
            }
            self.note(&format!("{key}.p50_ms"), figure.p50);
            self.note(&format!("{key}.p99_ms"), figure.p99);
            self.note(&format!("{key}.resident_mib"), figure.memory);
        }
        println!();
        let key = |metric: &str| format!("{}{metric}.{}", side.prefix, cell.key());
        self.compare(
            &key(&format!("cpu_per_{unit}")),
            stacks,
            measured,
            |figure| figure.server_cpu + figure.client_cpu.unwrap_or(0.0),
        );
        self.compare(&key("throughput"), stacks, measured, |figure| figure.rate);
        self.compare(&key("p99"), stacks, measured, |figure| figure.p99);
    }

    fn compare(
        &mut self,
        key: &str,
        stacks: &[Stack],
        measured: &[Option<Figure>],
        of: impl Fn(&Figure) -> f64,
    ) {
        let Some((Some(ours), theirs)) = measured.split_first() else {
            unreachable!("ours is the first, and has a figure or an error");
        };
        let ratio = |their: &Option<Figure>| Some(round(of(ours) / of(their.as_ref()?)));
        let ratios: Vec<Option<f64>> = theirs.iter().map(ratio).collect();
        for (stack, ratio) in stacks.iter().skip(1).zip(&ratios) {
            if let Some(ratio) = ratio {
                let key = format!("{key}.vs_{}", stack.name());
                self.ratios.insert(key, json!(ratio));
            }
        }
        self.rows.push((key.to_owned(), ratios));
    }

    /// Shows the ratios of ours to the others.
    pub(super) fn show_ratios(&self, stacks: &[Stack]) {
        print!("{:<40}", "ours to theirs");
        for stack in stacks.iter().skip(1) {
            print!(" {:>12}", format!("vs_{}", stack.name()));
        }
        println!();
        for (key, ratios) in &self.rows {
            print!("{key:<40}");
            for ratio in ratios {
                let shown = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
                print!(" {shown:>12}");
            }
            println!();
        }
    }

    /// Writes all of it down.
    pub(super) fn write(self) -> Result<String, Failure> {
        let (ratios, figures) = (Value::Object(self.ratios), Value::Object(self.figures));
        crate::bench::write_report("triple", &ratios, &figures)
    }
}

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    name: &'static str,
    /// Of its keys.
    prefix: &'static str,
}

impl Side {
    /// The load generator.
    pub(super) const SERVER: Self = Self {
        name: "h2load",
        prefix: "",
    };
    /// The client of the stack.
    pub(super) const END_TO_END: Self = Self {
        name: "own",
        prefix: "end_to_end.",
    };
}

/// Names the columns of what [`Report::add`] shows.
pub(super) fn show_columns() {
    println!(
        "{:<7} {:>5} {:<6} {:<9} {:>12} {:>9} {:>9} {:>10} {:>10} {:>9}",
        "payload",
        "calls",
        "client",
        "stack",
        "per second",
        "p50 ms",
        "p99 ms",
        "server us",
        "client us",
        "RSS MiB"
    );
}
