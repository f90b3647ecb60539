//! The arguments of the command.

use crate::{
    failure::Failure,
    interop::parts::{self, Registry},
};

use super::plays::{ALL, Play, Size};

/// What to play.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) play: &'static Play,
    pub(super) registries: Vec<Registry>,
    pub(super) size: Size,
}

impl Options {
    /// Reads the arguments, as [`usage`] has them.
    pub(super) fn parse(args: &[String]) -> Result<Self, Failure> {
        let (name, rest) = args
            .split_first()
            .ok_or_else(|| usage("what to play is missing"))?;
        let play = ALL
            .iter()
            .find(|play| play.name == name)
            .ok_or_else(|| usage(&format!("there is no play `{name}`")))?;
        let mut registries = Vec::new();
        let mut size = Size::Whole;
        let mut args = rest.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => size = Size::Quick,
                "--registry" => {
                    let name = args
                        .next()
                        .ok_or_else(|| usage("--registry needs a value"))?;
                    registries.push(parts::registry(name)?);
                }
                other => return Err(usage(&format!("there is no option `{other}`"))),
            }
        }
        if registries.is_empty() {
            registries = match size {
                Size::Whole => Registry::ALL.into(),
                Size::Quick => vec![Registry::Zookeeper],
            };
        }
        Ok(Self {
            play,
            registries,
            size,
        })
    }
}

fn usage(problem: &str) -> Failure {
    Failure::new(
        problem,
        "call it as: cargo xtask chaos rolling|kill|registry [--registry nacos|zookeeper|etcd]... [--quick]",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(&'static str, Vec<Registry>, Size), String> {
        let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&args)
            .map(|options| (options.play.name, options.registries, options.size))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn registries_are_all_unless_named_or_in_a_hurry() {
        use Registry::{Etcd, Nacos, Zookeeper};
        for (line, expected) in [
            (
                "rolling",
                ("rolling", vec![Nacos, Zookeeper, Etcd], Size::Whole),
            ),
            ("kill --quick", ("kill", vec![Zookeeper], Size::Quick)),
            (
                "registry --registry etcd --quick --registry nacos",
                ("registry", vec![Etcd, Nacos], Size::Quick),
            ),
        ] {
            assert_eq!(parse(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (line, problem) in [
            ("", "what to play is missing"),
            ("monkey", "no play `monkey`"),
            ("kill --registry", "--registry needs a value"),
            ("kill --registry consul", "no registry `consul`"),
            ("kill --slow", "no option `--slow`"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(problem), "{line}: {error}");
        }
    }
}
