//! What dubbo-go writes otherwise than Java (`docs/spec/hessian2.md` §14.5): longs for ints, long list forms of any
//! length, its own order of fields.

mod support;

use std::collections::{BTreeMap, HashSet};

use dubbo_hessian2::{Hessian, Shared, Value, from_slice, java::Date};
use support::{bytes, reads, values};

#[test]
fn typed_and_untyped_lists_of_any_length_are_long() {
    reads(&vec!["a".to_owned()], "56075b737472696e67910161");
    reads(&Vec::<String>::new(), "56075b737472696e6790");
    reads(&vec![1, 2], "56045b696e74929192");
    reads(
        &vec![vec![1], vec![2]],
        "56055b5b696e749256045b696e74919156045b696e749192",
    );
    reads(&Vec::<Value>::new(), "5890");
    let mixed: Vec<Value> = from_slice(&bytes("5892e10161")).expect("decodes");
    assert_eq!(mixed, [Value::Long(1), "a".into()]);
}

#[test]
fn an_int_of_go_is_a_long_that_fits() {
    assert_eq!(from_slice::<i32>(&bytes("e1")).expect("decodes"), 1);
    assert_eq!(
        from_slice::<Vec<i32>>(&bytes("58 92 e1 e2")).expect("decodes"),
        [1, 2]
    );
    assert!(from_slice::<i32>(&bytes("4c0000000080000000")).is_err());
}

#[test]
fn maps_dates_and_floats() {
    reads(&BTreeMap::from([("a".to_owned(), 1)]), "480161915a");
    reads(&Date::from_millis(60_000), "4a000000000000ea60");
    reads(&1.1_f32, "5f0000044c");
    // A nil slice, a nil map and a zero time are null.
    reads(&Vec::<i32>::new(), "4e");
    reads(&Vec::<u8>::new(), "4e");
    reads(&BTreeMap::<String, i32>::new(), "4e");
    reads(&None::<Date>, "4e");
    reads(
        &HashSet::from(["a".to_owned()]),
        "71116a6176612e7574696c2e486173685365740161",
    );
}

#[test]
fn objects_are_bound_by_name_and_shared_by_reference() {
    let car = Car {
        color: "red".into(),
        model: "corvette".into(),
    };
    let one = "430b6578616d706c652e4361729205636f6c6f72056d6f64656c600372656408636f727665747465";
    reads(&car.clone(), one);
    let twice = format!("7a{one}5191");
    let cars: Vec<Shared<Car>> = from_slice(&bytes(&twice)).expect("decodes");
    assert_eq!(cars[0], cars[1]);
    assert_eq!(*cars[0].get().expect("is there"), car);
}

#[test]
fn each_constant_of_an_enum_takes_a_number_and_none_is_referred_to() {
    let input = "430d6578616d706c652e436f6c6f7291046e616d6560035245446003524544430b6578616d706c652e4361729205636f6c6f72056d6f64656c610372656408636f7276657474655192";
    let read = values(&bytes(input)).expect("decodes");
    assert_eq!(read[2], read[3], "the second car is the first");
    assert_eq!(read[0].to::<Color>().expect("decodes"), Color::Red);
}

#[test]
fn a_reference_after_a_set_of_go_is_one_too_low() {
    // dubbo-go does not count the set: its second car refers to the set, which cannot be mended here.
    let input = "71116a6176612e7574696c2e486173685365740161430b6578616d706c652e4361729205636f6c6f72056d6f64656c600372656408636f7276657474655190";
    let read = values(&bytes(input)).expect("decodes");
    assert_eq!(read[2], read[0]);
    assert!(read[2].to::<Car>().is_err());
}

#[derive(Clone, Debug, Hessian, PartialEq)]
#[hessian(class = "example.Car")]
struct Car {
    color: String,
    model: String,
}

#[derive(Clone, Copy, Debug, Hessian, PartialEq)]
#[hessian(class = "example.Color")]
enum Color {
    Red,
}
