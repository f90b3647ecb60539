//! `--name=value` arguments.

use std::collections::HashMap;

/// What a program was started with.
#[derive(Debug, Default)]
pub struct Arguments(HashMap<String, String>);

impl Arguments {
    /// Reads the arguments of this process; a switch without `=` has an empty value.
    ///
    /// # Errors
    ///
    /// An argument does not begin with `--`, or its name is none of `known`.
    pub fn of_process(known: &[&str]) -> Result<Self, String> {
        Self::read(std::env::args().skip(1), known)
    }

    fn read(arguments: impl Iterator<Item = String>, known: &[&str]) -> Result<Self, String> {
        let mut read = Self::default();
        for argument in arguments {
            let (name, value) = argument
                .strip_prefix("--")
                .map(|rest| rest.split_once('=').unwrap_or((rest, "")))
                .filter(|(name, _)| known.contains(name))
                .ok_or_else(|| format!("`{argument}` is none of --{}", known.join("=…, --")))?;
            read.0.insert(name.to_owned(), value.to_owned());
        }
        Ok(read)
    }

    /// The value of `name`; empty for a switch.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_have_values() {
        let read = |line: &str| {
            Arguments::read(
                line.split_whitespace().map(str::to_owned),
                &["port", "list"],
            )
        };
        let arguments = read("--port=1 --list").expect("both are known");
        assert_eq!(arguments.get("port"), Some("1"));
        assert_eq!(arguments.get("list"), Some(""));
        for line in ["port=1", "--ports=1"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
