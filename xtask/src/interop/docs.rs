//! `docs/interop.md`, the tables as users read them.

use std::{fmt::Write as _, fs};

use crate::{failure::Failure, process};

use super::{
    about::about,
    cases::{self, Case, Family, Verdict},
    grpc,
    registry::{self, Registry, Scenario, routes},
    route::{Party, Protocol, Route},
    survey::{self, Survey},
};

/// Writes the page.
pub(super) fn write() -> Result<(), Failure> {
    let page = page(
        &cases::all(),
        &Survey::read(survey::CASES)?,
        &Survey::read(survey::REGISTRIES)?,
    );
    fs::write(process::root().join(FILE), page).map_err(|e| {
        Failure::new(
            format!("{FILE} cannot be written: {e}"),
            "look at the rights of the file",
        )
    })?;
    println!("interop: wrote {FILE}");
    Ok(())
}

fn page(cases: &[Case], survey: &Survey, registries: &Survey) -> String {
    let mut page = INTRODUCTION.to_owned();
    for peer in [Party::Go, Party::Java, Party::GrpcGo, Party::Grpcio] {
        let _ = writeln!(
            page,
            "- {} checks with {}",
            checks(cases, peer),
            long_name(peer)
        );
    }
    for (title, family, protocol) in SECTIONS {
        let section = Section {
            cases: cases
                .iter()
                .filter(|case| case.family == family || protocol == Protocol::Dubbo)
                .filter(|case| case.runs_over(protocol))
                .collect(),
            protocol,
            routes: &ROUTES,
            survey,
        };
        let _ = write!(page, "\n## {title}\n\n{}", section.render());
    }
    let section = Section {
        cases: cases
            .iter()
            .filter(|case| {
                GRPC_ROUTES
                    .iter()
                    .any(|way| case.leg(*way, Protocol::Tri).is_some())
            })
            .collect(),
        protocol: Protocol::Tri,
        routes: &GRPC_ROUTES,
        survey,
    };
    let _ = write!(page, "\n## With gRPC\n\n{GRPC}\n{}", section.render());
    for (tool, checks) in grpc::tools() {
        let _ = write!(page, "\n`{tool}` asks our provider for:\n\n");
        for check in checks {
            let _ = writeln!(page, "- {} (`{}`)", check.about, check.name);
        }
    }
    let _ = write!(
        page,
        "\n## In registries\n\n{REGISTRIES}\n{}",
        meetings(registries)
    );
    page
}

/// The cells of the matrix of registries.
fn meetings(survey: &Survey) -> String {
    let mut notes = Notes::default();
    let routes: Vec<_> = [routes(false), routes(true)].concat();
    let mut text = String::from("| Registry | Case |");
    for route in &routes {
        let _ = write!(text, " {route} |");
    }
    text.push_str("\n|---|---|");
    text.push_str(&":-:|".repeat(routes.len()));
    text.push('\n');
    for registry in Registry::ALL {
        for scenario in Scenario::all() {
            let _ = write!(text, "| {registry} | `{scenario}` |");
            for &route in &routes {
                let cell = registry::Cell {
                    registry,
                    scenario,
                    route,
                };
                let word = if !cell.is_possible() {
                    "–".to_owned()
                } else if !route.is_ours() {
                    seen(survey.get(&cell.row(), route)).to_owned()
                } else if let Some(reason) = registry::reason(cell) {
                    format!("–{}", notes.mark(reason))
                } else {
                    "✓".to_owned()
                };
                let _ = write!(text, " {word} |");
            }
            text.push('\n');
        }
    }
    text + &notes.render()
}

/// How many cells of the tables a run with `peer` checks.
fn checks(cases: &[Case], peer: Party) -> usize {
    let ours = [&ROUTES[..], &GRPC_ROUTES]
        .concat()
        .into_iter()
        .filter(|route| route.is_ours() && [route.consumer, route.provider].contains(&peer));
    ours.flat_map(|route| Protocol::ALL.map(|protocol| (route, protocol)))
        .map(|(route, protocol)| {
            let run = |case: &&Case| case.leg(route, protocol).is_some();
            cases.iter().filter(run).count()
        })
        .sum()
}

/// The cases over one protocol.
struct Section<'a> {
    cases: Vec<&'a Case>,
    protocol: Protocol,
    routes: &'static [Route],
    survey: &'a Survey,
}

impl Section<'_> {
    fn render(&self) -> String {
        let mut notes = Notes::default();
        let mut text = String::from("| Case | |");
        for route in self.routes {
            let _ = write!(text, " {route} |");
        }
        text.push_str("\n|---|---|");
        text.push_str(&":-:|".repeat(self.routes.len()));
        text.push('\n');
        // Rows that differ in a number only and came to the same stand together.
        let rows: Vec<_> = self
            .cases
            .iter()
            .map(|case| (*case, self.cells(case, &mut notes)))
            .collect();
        let alike = |a: &(&Case, Vec<String>), b: &(&Case, Vec<String>)| {
            a.1 == b.1 && stem(&a.0.name).is_some() && stem(&a.0.name) == stem(&b.0.name)
        };
        for group in rows.chunk_by(alike) {
            let (Some((first, cells)), Some((last, _))) = (group.first(), group.last()) else {
                continue;
            };
            let name = match group.len() {
                1 => format!("`{}`", first.name),
                _ => format!("`{}` … `{}`", first.name, last.name),
            };
            let _ = writeln!(
                text,
                "| {name} | {} | {} |",
                about(&first.name),
                cells.join(" | ")
            );
        }
        text + &notes.render()
    }

    fn cells(&self, case: &Case, notes: &mut Notes) -> Vec<String> {
        let label = self.protocol.label(&case.name);
        self.routes
            .iter()
            .map(|&route| {
                if !route.is_ours() {
                    return seen(self.survey.get(&label, route)).to_owned();
                }
                let Some(leg) = case.leg(route, self.protocol) else {
                    let reason = case.reason_to_leave_out(route, self.protocol);
                    return format!("–{}", notes.mark(reason));
                };
                let word = match leg.verdict {
                    Verdict::Right => "✓",
                    Verdict::Peer => "peer",
                };
                format!("{word}{}", notes.mark(leg.note))
            })
            .collect()
    }
}

/// How a check of others went.
fn seen(check: Option<bool>) -> &'static str {
    match check {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "–",
    }
}

/// The notes of a section, numbered in the order of their first use.
#[derive(Default)]
struct Notes(Vec<&'static str>);

impl Notes {
    fn mark(&mut self, note: &'static str) -> String {
        if note.is_empty() {
            return String::new();
        }
        let known = self.0.iter().position(|&other| other == note);
        let index = known.unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        });
        format!(" <sup>{}</sup>", index + 1)
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for (index, note) in self.0.iter().enumerate() {
            let _ = write!(text, "\n{}. {note}", index + 1);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// What comes before the number at the end of a name.
fn stem(name: &str) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len() < name.len()).then_some(stem)
}

fn long_name(party: Party) -> &'static str {
    match party {
        Party::Go => "dubbo-go 3.3.2: `cargo xtask interop go`",
        Party::GrpcGo => "grpc-go 1.64.1: `cargo xtask interop grpc`",
        Party::Grpcio => "grpcio 1.85.1 (Python): `cargo xtask interop grpc`",
        Party::Java => "Dubbo Java 3.3.6: `cargo xtask interop java`",
        Party::Rust => "ourselves",
    }
}

const FILE: &str = "docs/interop.md";
const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask interop docs`. -->

# What works with whom

In short, of one program in Rust and another in Go or Java:

- **Everything everyday works**, both ways: protobuf services over Triple and Java interfaces over Triple and `dubbo`, with
  timeouts, errors and exceptions, attachments, generic calls; streams and health over Triple; calls that are under way
  when a provider stops end well.
- **dubbo-go over Triple** refuses null as an argument of Java interfaces, has no `$echo` and no streams without protobuf,
  keeps error details with code 17 only; its callers ignore the timeout of a single call.
- **dubbo-go over `dubbo`** takes and sends 1,024,000 bytes at most. It makes an empty bean of a null argument, answers
  most errors with a `java.lang.Throwable`, and shows its callers errors as mere texts and no attachments of answers.
- **dubbo-go over both** takes no list where its method has a slice such as `[]string` or `[]*User`, as argument or as
  result (lists as `Object` and in beans work); it forgets classes such as `LinkedList`, and has no overloads and no
  `$invokeAsync`.
- **Dubbo Java over Triple** serves any group and version, spoils attachments beyond ASCII, gives an attachment one value
  and streams no trailers, has no error details, knows the codes up to 16, and lets a handler run on after its deadline.
- **Dubbo Java over `dubbo`**: all values and exceptions of classes that it has work; its callers see an error that is no
  exception as one of the network.
- **In Nacos, ZooKeeper and etcd** each finds the others, by interface and by application, wherever the metadata is; what
  does not work is dubbo-go's or Dubbo Java's doing, and stands below the last table.
- **Not checked here**: TLS, other versions of the two.

Every cell is a live check between two programs, run by CI: a consumer makes the calls of a case, and what it and the provider
saw is compared with a table. `Rust→Go` is a consumer in Rust that calls a provider in Go. The last two columns are Dubbo Java
and dubbo-go without us, measured in the same way by `cargo xtask interop others`: what fails there is no matter of ours.

| | |
|---|---|
| ✓ | what was agreed came out; a number points to a note below the table that says in which form |
| peer | the other program decides: what was agreed did not come out because dubbo-go or Dubbo Java does something else. The note says what. Our side still ends with a true result or a clear error; `interop/captures` has the traffic |
| ✗ | in the last two columns: what was agreed did not come out |
| – | not run; a number says why |

In all:

";
const REGISTRIES: &str = "\
A provider and a consumer, which has no address, meet in a registry server started for them: `cargo xtask interop registry`.
Both have a protobuf service over Triple and a Java interface over `dubbo`. How consumers are migrated from interfaces to
applications while they call is played by `cargo xtask interop migration`, with providers of all three in a ZooKeeper, and
what our clusters, load balances and routers make of providers in Go and Java by `cargo xtask interop cluster`:
`interop/README.md` has the scenarios of both.

| Case | What |
|---|---|
| `interface-…` | each service is registered by its interface |
| `application-…` | the application is registered, and its metadata says what it serves |
| `both-…` | both |
| `…-local` | the application serves its metadata |
| `…-remote` | the registry keeps it |
| all of these | the consumer finds the provider, sees it gone when it is stopped, finds it again on other ports |
| `outage-…` | the registry is killed and comes back after a minute: no call fails, and a new consumer finds the provider |
| `definition` | a consumer without the interface calls by what the provider's service definition in the registry says |
";
const SECTIONS: [(&str, Family, Protocol); 3] = [
    (
        "Protobuf services, over Triple",
        Family::Protobuf,
        Protocol::Tri,
    ),
    ("Java interfaces, over Triple", Family::Java, Protocol::Tri),
    ("Java interfaces, over dubbo", Family::Java, Protocol::Dubbo),
];
const GRPC: &str = "\
Clients and servers of gRPC, which know nothing of Dubbo, in `cargo xtask interop grpc`. There a client of gRPC is a consumer, and
a server of it is a provider without groups and versions.
";
const GRPC_ROUTES: [Route; 4] = [
    route(Party::Rust, Party::GrpcGo),
    route(Party::GrpcGo, Party::Rust),
    route(Party::Rust, Party::Grpcio),
    route(Party::Grpcio, Party::Rust),
];
const ROUTES: [Route; 6] = [
    route(Party::Rust, Party::Go),
    route(Party::Go, Party::Rust),
    route(Party::Rust, Party::Java),
    route(Party::Java, Party::Rust),
    route(Party::Java, Party::Go),
    route(Party::Go, Party::Java),
];

const fn route(consumer: Party, provider: Party) -> Route {
    Route { consumer, provider }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_tables_say() {
        let read = |file| Survey::read(file).expect("it is committed");
        let committed = process::read(FILE).expect("it is committed");
        assert!(
            committed
                == page(
                    &cases::all(),
                    &read(survey::CASES),
                    &read(survey::REGISTRIES)
                ),
            "{FILE} is out of date: cargo xtask interop docs"
        );
    }

    #[test]
    fn names_that_end_with_a_number_have_a_stem() {
        assert_eq!(stem("fail_code_07"), Some("fail_code_"));
        assert_eq!(stem("greet"), None);
    }
}
