//! References: what is shared stays shared, cycles come back as cycles, and plain Rust types get their own copy
//! (`docs/spec/hessian2.md` §7).

mod support;

use std::sync::Arc;

use dubbo_hessian2::{Hessian, Shared, Value, from_slice, to_vec};
use support::{bytes, golden, hex, kept, values, written};

#[test]
fn the_same_list_twice_is_one_list() {
    let value = kept("7a 79 91 51 91");
    let items = value.as_list().expect("a list");
    let (Value::List(first), Value::List(second)) = (&items[0], &items[1]) else {
        panic!("two lists: {value:?}");
    };
    assert!(Arc::ptr_eq(first, second));
    let plain: Vec<Vec<i32>> = value.to().expect("decodes");
    assert_eq!(plain, [[1], [1]]);
    let shared: Vec<Shared<Vec<i32>>> = value.to().expect("decodes");
    assert_eq!(shared[0], shared[1]);
    assert_eq!(hex(&to_vec(&shared).expect("encodes")), "7a79915191");
    assert_eq!(
        hex(&to_vec(&plain).expect("encodes")),
        "7a79917991",
        "equal lists are not one"
    );
}

#[test]
fn references_go_by_the_order_of_containers_alone() {
    // Dates, strings, binary and class definitions take no number; every list, map and object does.
    for (input, what) in [
        (
            "4b00000001 4b00000001 43 07 47656e24436172 92 056d6f64656c 05636f6c6f72 60 08636f727665747465 03726564 5190",
            "dates",
        ),
        (
            "026162 026162 43 07 47656e24436172 92 056d6f64656c 05636f6c6f72 60 08636f727665747465 03726564 5190",
            "char[]",
        ),
        ("220102 220102 78 71 045b696e74 91", "byte[]"),
        ("71 045b696e74 91 51 90", "int[]"),
        (
            "43 09 47656e24436f6c6f72 91 046e616d65 60 03524544 71 045b696e74 91 51 90",
            "an enum's constant",
        ),
    ] {
        let read = values(&bytes(input)).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(written(&read), hex(&bytes(input)), "{what}");
    }
}

#[test]
fn an_iterator_takes_a_number_when_it_is_read() {
    // Java's writer does not count it and its reader does: ours follows the reader.
    let read = values(&bytes("57 91 5a 79 92 51 91")).expect("decodes");
    assert_eq!(read[2], read[1]);
}

#[test]
fn a_list_and_a_map_that_contain_themselves_come_back() {
    for name in ["LinkedList.self", "HashMap.self"] {
        let value = kept(&hex(golden::named(name)));
        let shown = format!("{value:?}");
        assert!(shown.len() < 1_000, "{name}: {shown}");
        assert_eq!(value, value.clone());
    }
    let error = from_slice::<Vec<Vec<i32>>>(golden::named("LinkedList.self")).expect_err("a cycle");
    assert!(error.to_string().contains("contains itself"), "{error}");
}

#[test]
fn a_cycle_of_objects_comes_back_as_a_graph() {
    let root: Shared<Node> = from_slice(golden::named("Node.cycle")).expect("decodes");
    let node = root.get().expect("is there");
    assert_eq!(node.name.as_deref(), Some("root"));
    let kid = node.children[0].get().expect("is there");
    assert_eq!(kid.name.as_deref(), Some("kid"));
    assert_eq!(kid.parent.as_ref().expect("has a parent"), &root);
    assert!(format!("{root:?}").len() < 1_000);
    let again: Shared<Node> = from_slice(&to_vec(&root).expect("encodes")).expect("decodes");
    let again = again.get().expect("is there");
    assert_eq!(
        again.children[0].get().expect("is there").name.as_deref(),
        Some("kid")
    );
}

#[test]
fn a_cycle_is_an_error_for_a_type_that_cannot_hold_one() {
    #[derive(Debug, Hessian)]
    #[hessian(class = "org.apache.dubbo.interop.Node")]
    struct Tree {
        parent: Option<Box<Self>>,
        children: Vec<Self>,
    }
    let error = from_slice::<Tree>(golden::named("Node.cycle")).expect_err("a cycle");
    assert!(error.to_string().contains("Shared<T>"), "{error}");
}

#[test]
fn a_cycle_built_here_is_written_with_a_reference() {
    let root = Shared::cyclic(|root| Node {
        children: vec![Shared::new(Node {
            children: Vec::new(),
            parent: Some(root.clone()),
            name: Some("kid".into()),
        })],
        parent: None,
        name: Some("root".into()),
    });
    let bytes = to_vec(&root).expect("encodes");
    let value: Value = from_slice(&bytes).expect("decodes");
    let kid = value
        .as_object()
        .and_then(|root| root.get("children"))
        .and_then(Value::as_list);
    let kid = kid.and_then(|kids| kids[0].as_object()).expect("a kid");
    assert!(
        matches!(kid.get("parent"), Some(Value::Back(_))),
        "{value:?}"
    );
}

#[test]
fn a_type_is_named_once_and_then_numbered() {
    let input = "70 14 6a6176612e7574696c2e4c696e6b65644c697374 70 90";
    let read = values(&bytes(input)).expect("decodes");
    assert_eq!(
        read[1].as_typed_list().and_then(|list| list.type_name()),
        Some("java.util.LinkedList")
    );
    assert_eq!(written(&read), hex(&bytes(input)));
    let mixed = golden::named("arrays.type-ref");
    assert_eq!(written(&values(mixed).expect("decodes")), hex(mixed));
}

#[test]
fn a_type_that_is_named_again_takes_a_number_again() {
    // `[int` is 0 and 1, `[long` 2.
    let read =
        values(&bytes("70 045b696e74 70 045b696e74 70 055b6c6f6e67 70 92")).expect("decodes");
    assert_eq!(
        read[3].as_typed_list().and_then(|list| list.type_name()),
        Some("[long")
    );
}

#[derive(Debug, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Node")]
struct Node {
    children: Vec<Shared<Self>>,
    parent: Option<Shared<Self>>,
    name: Option<String>,
}
