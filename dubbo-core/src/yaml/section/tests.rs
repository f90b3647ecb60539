use std::time::Duration;

use super::*;
use crate::yaml::parse;

#[test]
fn values_of_every_type_are_read() {
    let text = "
s: 1.10
b: TRUE
i: -7
d: 1m30s
ms: 250
w: 600
z: 4mib
l: [a, 'b, c', '']
u: a;b ; c,d
c: Text
p: {k: v, n: 7, e: }
";
    let ((), problems) = read(text, |s| {
        assert_eq!(s.string("s").as_deref(), Some("1.10"));
        assert_eq!(s.bool("b"), Some(true));
        assert_eq!(s.integer("i", -10..=10), Some(-7_i32));
        assert_eq!(s.duration("d"), Some(Duration::from_secs(90)));
        assert_eq!(s.duration("ms"), Some(Duration::from_millis(250)));
        assert_eq!(s.duration_in_seconds("w"), Some(Duration::from_mins(10)));
        assert_eq!(s.size("z"), Some(4 << 20));
        assert_eq!(s.list("l"), Some(owned(&["a", "b", "c"])));
        assert_eq!(s.list_by("u", ';'), Some(owned(&["a", "b", "c,d"])));
        assert_eq!(s.choice("c", &[("json", 1), ("text", 2)]), Some(2));
        let texts = s.texts("p");
        let texts: Vec<_> = texts
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(texts, [("e", ""), ("k", "v"), ("n", "7")]);
    });
    assert_eq!(problems, "");
}

#[test]
fn a_key_without_a_value_reads_like_an_absent_one_and_an_empty_text_does_not() {
    let ((), problems) = read("a:\nb: ~\nc: ''\nd: []\n", |s| {
        assert_eq!(s.string("a"), None);
        assert_eq!(s.list("b"), None);
        assert_eq!(s.string("c").as_deref(), Some(""));
        assert_eq!(s.list("c"), Some(Vec::new()));
        assert_eq!(s.list("d"), Some(Vec::new()));
        s.unsupported("a", "use z");
    });
    assert_eq!(problems, "");
}

#[test]
fn every_mistake_is_noted_and_reading_goes_on() {
    let text = "
timeout: soon
retries: -1
check: yes
size: 4 miles
name: [a]
sub: 7
items: {a: b}
entries: [a]
ids: [{a: b}, c]
format: xml
texts: {a: [b]}
ages: 2562048h
chek: true
\"a\\nb\": 1
";
    let ((), problems) = read(text, |s| {
        assert_eq!(s.duration("timeout"), None);
        assert_eq!(s.integer("retries", 0..=9_u32), None);
        assert_eq!(s.bool("check"), None);
        assert_eq!(s.size("size"), None);
        assert_eq!(s.string("name"), None);
        assert_eq!(s.section("sub", |sub| sub.string("x")), None);
        assert_eq!(s.items("items", |_| ()), []);
        assert!(s.entries("entries", |_| ()).is_empty());
        assert_eq!(s.list("ids"), Some(owned(&["c"])));
        assert_eq!(s.choice("format", &[("text", 1), ("json", 2)]), None);
        assert!(s.texts("texts").is_empty());
        assert_eq!(s.duration_in_seconds("ages"), None);
    });
    assert_eq!(
        problems,
        "\
t.yaml:2:10: timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found `soon`
t.yaml:3:10: retries: expected a whole number from 0 to 9, found `-1`
t.yaml:4:8: check: expected `true` or `false`, found `yes`
t.yaml:5:7: size: expected a size such as `4mib`, `4mb` or a number of bytes, found `4 miles`
t.yaml:6:7: name: expected a text, found a list
t.yaml:7:6: sub: expected a map, found a text
t.yaml:8:8: items: expected a list, found a map
t.yaml:9:10: entries: expected a map, found a list
t.yaml:10:7: ids: expected a text or a list of texts, found a map
t.yaml:11:9: format: expected `text` or `json`, found `xml`
t.yaml:12:12: texts.a: expected a text, found a list
t.yaml:13:7: ages: expected a duration such as `10m`, or a number of seconds, found `2562048h`
t.yaml:14:1: chek: unknown key (did you mean `check`?)
t.yaml:15:1: a\\nb: unknown key
"
    );
}

#[test]
fn keys_may_be_spelled_in_several_ways_but_once() {
    let text = "a: {provided_by: x}\nb: {Provided-By: x}\nc: {provided.by: x, provided_by: y}\n";
    let (values, problems) = read(text, |s| {
        ["a", "b", "c"].map(|key| s.section(key, |s| s.string("provided-by")))
    });
    assert_eq!(values, ["x", "x", "y"].map(|value| Some(value.to_owned())));
    assert_eq!(
        problems,
        "t.yaml:3:21: c.provided-by: the key is there already, as `provided.by` at t.yaml:3:5\n"
    );
}

#[test]
fn what_is_not_supported_is_refused_only_when_it_is_asked_for() {
    let text = "a: {x: 1}\nb: false\nc: true\nd: 5\ne: 5\nf: on\n";
    let ((), problems) = read(text, |s| {
        s.unsupported("a", "use z");
        s.unsupported("absent", "use z");
        s.unsupported_switch("b", "there is none");
        s.unsupported_switch("c", "there is none");
        s.no_effect("d", "nothing reads it");
        s.deprecated("e", "z.e");
        s.unsupported_switch("f", "there is none");
    });
    assert_eq!(
        problems,
        "\
t.yaml:1:1: a: not supported: use z
t.yaml:3:1: c: not supported: there is none; leave it out or set it to `false`
t.yaml:6:4: f: expected `true` or `false`, found `on`
warning: t.yaml:4:1: d: has no effect: nothing reads it
warning: t.yaml:5:1: e: deprecated, write `z.e`
"
    );
}

#[test]
fn an_overlay_is_stronger_and_reaches_what_the_tree_does_not_have() {
    #[derive(Debug)]
    struct Env;
    impl Overlay for Env {
        fn value(&self, path: &Path) -> Option<Node> {
            let text = match path.to_string().as_str() {
                "app.name" => "over",
                "ids.a.port" => "1",
                "ids.a.params.k" => "w",
                "off.deep" => "x",
                _ => return None,
            };
            Some(Node::scalar(text, Location::named("environment")))
        }

        fn below(&self, path: &Path) -> Option<Location> {
            (path.to_string() == "off").then(|| Location::named("environment"))
        }
    }

    let mut problems = Problems::default();
    let text = "ids: {a: {params: {k: v}}, b: {port: 2}}";
    let document = parse("t.yaml", text, &mut problems);
    let mut reader = Reader::new(problems).overlay(&Env);
    reader.read("", document.as_ref(), |s| {
        let name = s.section("app", |s| s.string("name"));
        assert_eq!(name.as_deref(), Some("over"));
        let ids = s.entries("ids", |s| (s.integer("port", 0..=9_u16), s.texts("params")));
        assert_eq!(ids["a"].0, Some(1));
        assert_eq!(ids["a"].1["k"], "w");
        assert_eq!(ids["b"].0, Some(2));
        s.unsupported("off", "use z");
    });
    let (problems, places) = reader.finish();
    assert_eq!(lines(problems), "environment: off: not supported: use z\n");
    assert_eq!(
        places.find("ids.a.port", "1"),
        Some(&Location::named("environment"))
    );
}

#[test]
fn the_place_of_a_value_is_found_by_what_was_written_there() {
    let mut problems = Problems::default();
    let text = "one: a\ncommas: a, b\nlist: [a,\n b]\nmap: {x: y}\n";
    let document = parse("t.yaml", text, &mut problems);
    let mut reader = Reader::new(problems);
    reader.read("", document.as_ref(), |s| {
        s.string("one");
        s.list("commas");
        s.list("list");
        s.section("map", |s| s.string("x"));
    });
    let (_, places) = reader.finish();
    for (path, value, want) in [
        ("one", "a", Some("t.yaml:1:6")),
        ("one", "from code", None),
        ("commas", "b", Some("t.yaml:2:9")),
        ("list", "b", Some("t.yaml:4:2")),
        ("map", "", Some("t.yaml:5:1")),
        ("map.x", "y", Some("t.yaml:5:10")),
        ("absent", "", None),
    ] {
        let found = places.find(path, value).map(ToString::to_string);
        assert_eq!(found.as_deref(), want, "{path} = {value:?}");
    }
}

fn read<T>(text: &str, read: impl FnOnce(&mut Section<'_, '_>) -> T) -> (T, String) {
    let mut problems = Problems::default();
    let document = parse("t.yaml", text, &mut problems);
    let mut reader = Reader::new(problems);
    let value = reader.read("", document.as_ref(), read);
    (value, lines(reader.finish().0))
}

fn lines(problems: Problems) -> String {
    let (errors, warnings) = problems.into_parts();
    let errors = errors.iter().map(|problem| format!("{problem}\n"));
    let warnings = warnings
        .iter()
        .map(|problem| format!("warning: {problem}\n"));
    errors.chain(warnings).collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
