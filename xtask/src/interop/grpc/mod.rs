//! `cargo xtask interop grpc`: peers and tools that know gRPC or HTTP, and nothing of Dubbo. grpc-go and grpcio call our
//! provider and are called by our consumer, case by case; grpcurl and curl ask our provider.

mod curl;
mod grpcurl;
mod target;
mod tool;

use crate::failure::Failure;

use self::{target::Target, tool::Check};
use super::{
    Table,
    build::{self, Program},
    cases::{self, Case},
    options::{Matrix, check, is_meant},
    report::{Cell, Row},
    route::{Party, Protocol},
};

/// Those that play the cases of the protobuf service.
pub(super) const PEERS: [Party; 2] = [Party::GrpcGo, Party::Grpcio];

/// The checks of each tool, for the page that shows them.
pub(super) fn tools() -> [(&'static str, &'static [Check]); 2] {
    [("grpcurl", &grpcurl::CHECKS), ("curl", &curl::CHECKS)]
}

/// Plays the cases that the arguments ask for with each peer, and has each tool make its checks. Prints a table, and the
/// count on the last line. Whether all passed.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    let patterns = patterns(args)?;
    let cases: Vec<Case> = played_cases();
    let asked: Vec<Case> = cases
        .into_iter()
        .filter(|case| is_meant(&patterns, &case.name))
        .collect();
    let mut table = Table::of(&asked);
    let ours = build::peers(Party::Rust)?;
    if !asked.is_empty() {
        for peer in PEERS {
            let routes = Matrix::Against(peer).routes();
            let programs = [&ours, &build::peers(peer)?];
            table.play(&asked, routes, programs, &[Protocol::Tri], None)?;
        }
    }
    let wanted = |check: &Check| is_meant(&patterns, check.name);
    if tools().iter().any(|(_, checks)| checks.iter().any(wanted)) {
        ask(&mut table, &ours.provider, &wanted)?;
    }
    Ok(table.print() == 0)
}

/// Adds a column for each tool, and rows for its checks.
fn ask(
    table: &mut Table,
    provider: &Program,
    wanted: &dyn Fn(&Check) -> bool,
) -> Result<(), Failure> {
    let target = Target::start(provider)?;
    let groups = [
        (&grpcurl::CHECKS[..], grpcurl::tools(&target)?),
        (&curl::CHECKS[..], curl::tools(&target)?),
    ];
    for (checks, tools) in groups {
        let checks: Vec<&Check> = checks.iter().filter(|check| wanted(check)).collect();
        let before = table.columns.len();
        let mut rows: Vec<Row> = checks.iter().map(|check| Row::new(check.name)).collect();
        for row in &mut rows {
            row.cells.resize_with(before, || None);
        }
        for tool in tools {
            println!("interop: {tool}→Rust");
            for (row, check) in rows.iter_mut().zip(&checks) {
                let problems = tool.make(check)?;
                row.cells.push(Some(Cell { problems, note: "" }));
            }
            table.columns.push(format!("{tool}→Rust"));
        }
        table.rows.append(&mut rows);
    }
    let width = table.columns.len();
    for row in &mut table.rows {
        row.cells.resize_with(width, || None);
    }
    Ok(())
}

/// The cases that run with a peer of gRPC.
fn played_cases() -> Vec<Case> {
    let runs = |case: &Case| {
        let routes = PEERS.map(|peer| Matrix::Against(peer).routes());
        let mut routes = routes.iter().flatten();
        routes.any(|route| case.leg(*route, Protocol::Tri).is_some())
    };
    cases::all().into_iter().filter(runs).collect()
}

/// Those after `--case`.
fn patterns(args: &[String]) -> Result<Vec<String>, Failure> {
    let usage = |problem: &str| {
        Failure::new(
            problem,
            "call it as: cargo xtask interop grpc [--case NAME|START*]...",
        )
    };
    let mut patterns = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg != "--case" {
            return Err(usage(&format!("there is no option `{arg}`")));
        }
        let pattern = args.next().ok_or_else(|| usage("--case needs a value"))?;
        patterns.push(pattern.clone());
    }
    let cases = played_cases();
    let tools = tools();
    let checks = tools.iter().flat_map(|(_, checks)| checks.iter());
    let names: Vec<&str> = cases
        .iter()
        .map(|case| &*case.name)
        .chain(checks.map(|check| check.name))
        .collect();
    check(&patterns, &names)?;
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_matrix_is_large_and_each_row_is_named_once() {
        let cases = played_cases();
        let mut checks = 0;
        for route in PEERS
            .iter()
            .flat_map(|peer| Matrix::Against(*peer).routes())
        {
            let run = |case: &&Case| case.leg(route, Protocol::Tri).is_some();
            let here = cases.iter().filter(run).count();
            assert!(here >= 60, "{route}: {here}");
            checks += here;
        }
        assert!(checks >= 260, "{checks}");
        let tools = tools();
        let tools = tools.iter().flat_map(|(_, checks)| checks.iter());
        let names: Vec<&str> = cases
            .iter()
            .map(|case| &*case.name)
            .chain(tools.map(|check| check.name))
            .collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn cases_and_checks_are_selected_by_name() {
        let parse = |line: &str| {
            let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            patterns(&args).map_err(|failure| failure.to_string())
        };
        assert_eq!(parse(""), Ok(vec![]));
        let some = parse("--case greet --case curl_*").expect("both are there");
        assert!(is_meant(&some, "curl_json") && !is_meant(&some, "bidi"));
        for (line, problem) in [
            ("--case", "needs a value"),
            ("--case greets", "no case `greets`"),
            // A Java interface is not called by gRPC.
            ("--case echo_null", "no case `echo_null`"),
            ("--fast", "no option `--fast`"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(problem), "{line}: {error}");
        }
    }
}
