//! Conditions as text: `method=find* & region=hz => host!=10.0.0.1`.

/// One condition: which calls it is for, and where those may go (`docs/spec/cluster.md` §4.2).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    /// As it was written.
    pub(super) text: Box<str>,
    /// What has to be so of the consumer and the call. Nothing: it is for all.
    pub(super) when: Side,
    /// What has to be so of a provider. `None`: such calls go nowhere.
    pub(super) then: Option<Side>,
}

/// Terms that all have to be so.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Side(pub(super) Box<[Term]>);

/// What has to be so of one value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) key: Key,
    /// It is one of these, if there are any.
    pub(super) is: Vec<Wanted>,
    /// It is none of these.
    pub(super) is_not: Vec<Wanted>,
}

/// Which value is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// An argument of the call, by its position.
    Argument(usize),
    /// An attachment of the call.
    Attachment(Box<str>),
    Host,
    /// The method that is called.
    Method,
    Param(Box<str>),
    Password,
    Path,
    Port,
    Protocol,
    Username,
}

/// A value that is as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// This text, or what fits this [pattern](crate::rules::glob).
    Glob(Box<str>),
    /// A whole number, from and to.
    Range(i64, i64),
    /// The same as the consumer's.
    OfConsumer(Key),
}

/// Which side of the arrow something stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Consumer,
    Provider,
}

impl Condition {
    /// Reads a condition; an error says what is wrong with it. Without an arrow all of it is about providers.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (when, then) = text.split_once(ARROW).unwrap_or(("", text));
        if then.contains(ARROW) {
            return Err(format!("`{text}` has more than one `=>`"));
        }
        let (when, then) = (when.trim(), then.trim());
        Ok(Self {
            text: text.trim().into(),
            when: Side::parse_when(when)?,
            then: match then {
                "" | "false" => None,
                then => Some(Side::parse(then, Of::Provider)?),
            },
        })
    }
}

impl Side {
    /// Reads which calls are meant: all, when nothing is said.
    pub(super) fn parse_when(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" | "true" => Ok(Self::default()),
            when => Self::parse(when, Of::Consumer),
        }
    }

    /// Reads terms: tokens, each with the separators before it.
    pub(super) fn parse(text: &str, of: Of) -> Result<Self, String> {
        let mut terms: Vec<Term> = Vec::new();
        let mut open: Option<Open> = None;
        for (separator, token) in tokens(text) {
            let unexpected =
                || format!("`{separator}{token}` cannot stand where it does in `{text}`");
            let list = match separator {
                "" | "&" => {
                    let key = Key::parse(token, of)?;
                    let known = terms.iter().position(|term| term.key == key);
                    let index = known.unwrap_or(terms.len());
                    if known.is_none() {
                        terms.push(Term::new(key));
                    }
                    open = Some(Open { index, list: None });
                    continue;
                }
                "=" => List::Is,
                "!=" => List::IsNot,
                "," => open
                    .as_ref()
                    .and_then(|open| open.list)
                    .ok_or_else(unexpected)?,
                _ => return Err(unexpected()),
            };
            let open = open.as_mut().ok_or_else(unexpected)?;
            open.list = Some(list);
            let term = &mut terms[open.index];
            let list = match list {
                List::Is => &mut term.is,
                List::IsNot => &mut term.is_not,
            };
            list.push(Wanted::parse(token, of)?);
        }
        if terms.is_empty() && !text.trim().is_empty() {
            return Err(format!("`{text}` names no value"));
        }
        Ok(Self(terms.into()))
    }
}

impl Term {
    fn new(key: Key) -> Self {
        Self {
            key,
            is: Vec::new(),
            is_not: Vec::new(),
        }
    }
}

impl Key {
    /// Reads the name of a value. `consumer.` and `provider.` before it say nothing.
    fn parse(name: &str, of: Of) -> Result<Self, String> {
        let name = without_side(name);
        if let Some(inner) = in_brackets(name, "arguments") {
            called(name, of)?;
            let position = inner.parse();
            return position
                .map(Self::Argument)
                .map_err(|_| format!("`{name}` needs the position of an argument, from 0"));
        }
        if let Some(inner) = in_brackets(name, "attachments") {
            called(name, of)?;
            if inner.is_empty() {
                return Err(format!("`{name}` needs the name of an attachment"));
            }
            return Ok(Self::Attachment(inner.into()));
        }
        Ok(match (name, of) {
            ("method" | "methods", Of::Consumer) => Self::Method,
            _ => Self::of_url(name),
        })
    }

    fn of_url(name: &str) -> Self {
        match name {
            "host" => Self::Host,
            "password" => Self::Password,
            "path" => Self::Path,
            "port" => Self::Port,
            "protocol" => Self::Protocol,
            "username" => Self::Username,
            name => Self::Param(name.into()),
        }
    }
}

impl Wanted {
    fn parse(text: &str, of: Of) -> Result<Self, String> {
        if let (Of::Provider, Some(name)) = (of, text.strip_prefix('$')) {
            return Ok(Self::OfConsumer(Key::of_url(without_side(name))));
        }
        let Some((from, to)) = text.split_once('~') else {
            return Ok(Self::Glob(text.into()));
        };
        let end = |text: &str, open| match text {
            "" => Some(open),
            text => text.parse().ok(),
        };
        match (end(from, i64::MIN), end(to, i64::MAX)) {
            (Some(from_number), Some(to_number)) if !(from.is_empty() && to.is_empty()) => {
                Ok(Self::Range(from_number, to_number))
            }
            _ => Err(format!(
                "`{text}` is no range of whole numbers, such as `1~9`, `1~` or `~9`"
            )),
        }
    }
}

/// The term that values belong to, and to which of its lists.
struct Open {
    index: usize,
    list: Option<List>,
}

#[derive(Clone, Copy)]
enum List {
    Is,
    IsNot,
}

/// The tokens of `text`, each with the separators that stand right before it.
///
/// Separators that others follow, with blanks between them, say nothing: so do Dubbo's own readers take them.
fn tokens(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| !is_separator(c) && !c.is_whitespace())?;
        let (before, token) = rest.split_at(start);
        let end = token.find(|c: char| is_separator(c) || c.is_whitespace());
        let (token, after) = token.split_at(end.unwrap_or(token.len()));
        rest = after;
        let before = before.trim_end();
        let separator = before.trim_end_matches(is_separator).len();
        Some((&before[separator..], token))
    })
}

fn is_separator(c: char) -> bool {
    matches!(c, '&' | '!' | '=' | ',')
}

fn without_side(name: &str) -> &str {
    let consumer = name.strip_prefix("consumer.");
    let side = consumer.or_else(|| name.strip_prefix("provider."));
    side.unwrap_or(name)
}

fn in_brackets<'t>(name: &'t str, before: &str) -> Option<&'t str> {
    let inner = name.strip_prefix(before)?.strip_prefix('[')?;
    inner.strip_suffix(']')
}

/// Refuses what only a call has where providers are described.
fn called(name: &str, of: Of) -> Result<(), String> {
    match of {
        Of::Consumer => Ok(()),
        Of::Provider => Err(format!(
            "`{name}` is of the call: it can stand before `=>` only"
        )),
    }
}

const ARROW: &str = "=>";

#[cfg(test)]
mod tests {
    use super::*;

    fn side(text: &str) -> Result<String, String> {
        let side = Side::parse(text, Of::Consumer)?;
        let list = |name: &str, list: &[Wanted]| match list {
            [] => String::new(),
            list => format!(" {name} {list:?}"),
        };
        let terms = side.0.iter().map(|term| {
            let key = match &term.key {
                Key::Param(name) => name.to_string(),
                key => format!("{key:?}"),
            };
            key + &list("is", &term.is) + &list("is not", &term.is_not)
        });
        let text = terms.collect::<Vec<_>>().join(" and ");
        let glob = regex::Regex::new(r#"Glob\("([^"]*)"\)"#).expect("a pattern");
        Ok(glob.replace_all(&text, "$1").into_owned())
    }

    #[test]
    fn a_side_is_read_as_dubbo_reads_it() {
        for (text, want) in [
            ("", ""),
            ("a", "a"),
            ("a=1", "a is [1]"),
            ("a = 1", "a is [1]"),
            ("a = = b", "a is [b]"),
            ("a=1,2 & b!=3", "a is [1, 2] and b is not [3]"),
            ("a=1 & a!=2 & a=3", "a is [1, 3] is not [2]"),
            ("a=1!=2,3", "a is [1] is not [2, 3]"),
            ("a b=1", "a and b is [1]"),
            ("a=1&", "a is [1]"),
            ("method=find*,get", "Method is [find*, get]"),
            ("methods=a", "Method is [a]"),
            (
                "consumer.host=h&provider.port=1",
                "Host is [h] and Port is [1]",
            ),
            (
                "interface=com.consumer.Foo",
                "interface is [com.consumer.Foo]",
            ),
            ("consumer.consumer.x=1", "consumer.x is [1]"),
            ("arguments[0]=x", "Argument(0) is [x]"),
            (
                "attachments[user-id.x]=7",
                "Attachment(\"user-id.x\") is [7]",
            ),
            ("a=1~3", "a is [Range(1, 3)]"),
            ("a=-3~-1", "a is [Range(-3, -1)]"),
            (
                "a=~3,3~",
                "a is [Range(-9223372036854775808, 3), Range(3, 9223372036854775807)]",
            ),
            ("a=$b", "a is [$b]"),
        ] {
            assert_eq!(side(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_says_why() {
        for (text, want) in [
            ("a==b", "`==b` cannot stand"),
            (",x", "`,x` cannot stand"),
            ("=x", "`=x` cannot stand"),
            ("!=x", "`!=x` cannot stand"),
            ("a,b", "`,b` cannot stand"),
            ("a=1&b,2", "`,2` cannot stand"),
            ("a=!b", "`=!b` cannot stand"),
            ("a!b", "`!b` cannot stand"),
            ("a=1&&b=2", "`&&b` cannot stand"),
            ("=", "`=` names no value"),
            ("a=b~c", "`b~c` is no range"),
            ("a=~", "`~` is no range"),
            ("arguments[x]=1", "needs the position of an argument"),
            ("arguments[-1]=1", "needs the position of an argument"),
            ("attachments[]=1", "needs the name of an attachment"),
            ("a=1 => b=2 => c=3", "more than one `=>`"),
            ("=> arguments[0]=1", "can stand before `=>` only"),
            ("=> attachments[a]=1", "can stand before `=>` only"),
        ] {
            let text = if text.contains("=>") {
                text.to_owned()
            } else {
                format!("{text} => x=1")
            };
            let error = Condition::parse(&text).expect_err(&text);
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_on_the_left_is_every_call_and_nothing_on_the_right_is_nowhere() {
        for (text, when, then) in [
            ("=> a=1", 0, Some(1)),
            ("a=1", 0, Some(1)),
            ("true => a=1 & b=2", 0, Some(2)),
            ("a=1 & b=2 =>", 2, None),
            ("a=1 => false", 1, None),
            ("=>", 0, None),
            ("", 0, None),
            ("false", 0, None),
        ] {
            let condition = Condition::parse(text).expect(text);
            assert_eq!(condition.when.0.len(), when, "{text}");
            assert_eq!(condition.then.map(|then| then.0.len()), then, "{text}");
            assert_eq!(&*condition.text, text);
        }
    }

    #[test]
    fn a_dollar_is_the_consumers_own_value_on_the_right_alone() {
        let condition = Condition::parse("a=$b => c=$consumer.host,$d").expect("valid");
        assert_eq!(condition.when.0[0].is, [Wanted::Glob("$b".into())]);
        let then = condition.then.expect("goes somewhere");
        let host = Wanted::OfConsumer(Key::Host);
        assert_eq!(
            then.0[0].is,
            [host, Wanted::OfConsumer(Key::Param("d".into()))]
        );
    }
}
