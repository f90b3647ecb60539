//! What of the grid is measured.

use crate::failure::Failure;

use super::{
    grid::{CONCURRENCIES, Load},
    stacks::Stack,
};

/// The parts of the grid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Few rounds, and nothing is built for the allocations.
    pub(super) quick: bool,
    /// Ours first.
    pub(super) stacks: Vec<Stack>,
    pub(super) loads: Vec<Load>,
    pub(super) concurrencies: Vec<u32>,
}

impl Options {
    /// Reads the arguments behind `bench triple`.
    pub(super) fn parse(args: &[&str]) -> Result<Self, Failure> {
        let mut args = args.iter();
        let (mut quick, mut peers, mut loads, mut concurrencies) = (false, None, None, None);
        while let Some(&arg) = args.next() {
            let mut list = || {
                let list = args.next().map(|list| list.split(',').collect::<Vec<_>>());
                list.ok_or_else(|| refused(format!("`{arg}` has no value")))
            };
            match arg {
                "--quick" => quick = true,
                "--peers" => peers = Some(named(&list()?, &Stack::NAMED, Stack::name)?),
                "--sizes" => loads = Some(named(&list()?, &Load::ALL, Load::label)?),
                "--concurrency" => {
                    concurrencies = Some(named(&list()?, &CONCURRENCIES, |n| n.to_string())?);
                }
                _ => return Err(refused(format!("there is no option `{arg}`"))),
            }
        }
        let mut stacks = vec![Stack::Dubbo];
        stacks.extend(peers.unwrap_or_else(|| Stack::PEERS.to_vec()));
        let (all_loads, all_concurrencies) = if quick {
            (vec![Load::Unary(128)], vec![100])
        } else {
            (Load::ALL.to_vec(), CONCURRENCIES.to_vec())
        };
        Ok(Self {
            quick,
            stacks,
            loads: loads.unwrap_or(all_loads),
            concurrencies: concurrencies.unwrap_or(all_concurrencies),
        })
    }
}

/// Those of `all` that `words` name, in the order of `all`.
fn named<T: Copy, N: AsRef<str>>(
    words: &[&str],
    all: &[T],
    name: impl Fn(T) -> N,
) -> Result<Vec<T>, Failure> {
    let known = |word: &&&str| all.iter().any(|one| name(*one).as_ref() == **word);
    if let Some(unknown) = words.iter().find(|word| !known(word)) {
        let all: Vec<String> = all
            .iter()
            .map(|one| name(*one).as_ref().to_owned())
            .collect();
        let all = all.join(", ");
        return Err(refused(format!("`{unknown}` is none of {all}")));
    }
    let mut chosen = all.to_vec();
    chosen.retain(|one| words.contains(&name(*one).as_ref()));
    Ok(chosen)
}

fn refused(why: String) -> Failure {
    Failure::new(why, USAGE)
}

const USAGE: &str = "cargo xtask bench triple [--quick] [--peers hyper,tonic,observed,recorded,...] \
                     [--sizes 128B,1KiB,stream,...] [--concurrency 50,100,500]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_it_is_the_whole_grid() {
        let options = Options::parse(&[]).expect("valid");
        assert_eq!(options.stacks.len(), 1 + Stack::PEERS.len());
        assert_eq!(options.loads, Load::ALL);
        assert_eq!(options.concurrencies, CONCURRENCIES);
    }

    #[test]
    fn what_is_named_is_measured_beside_ours() {
        let args = ["--quick", "--peers", "tonic,hyper", "--sizes", "stream,5B"];
        let options = Options::parse(&args).expect("valid");
        assert_eq!(options.stacks, [Stack::Dubbo, Stack::Hyper, Stack::Tonic]);
        assert_eq!(options.loads, [Load::Unary(5), Load::Stream]);
        assert_eq!(options.concurrencies, [100]);
    }

    #[test]
    fn ours_is_measured_observed_only_where_that_is_named() {
        let options = Options::parse(&["--peers", "recorded,observed"]).expect("valid");
        assert_eq!(
            options.stacks,
            [Stack::Dubbo, Stack::Observed, Stack::Recorded]
        );
        for stack in [Stack::Observed, Stack::Recorded] {
            assert!(!Stack::PEERS.contains(&stack), "{}", stack.name());
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (args, why) in [
            (&["--peers", "rust"][..], "`rust` is none of hyper, tonic"),
            (&["--sizes"], "`--sizes` has no value"),
            (&["--concurrency", "7"], "`7` is none of 50, 100, 500"),
            (&["--fast"], "there is no option `--fast`"),
        ] {
            let refused = Options::parse(args).expect_err("refused").to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
