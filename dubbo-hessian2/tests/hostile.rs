//! Bytes that no peer should send: an ordinary error each, at once, whatever they claim (`docs/spec/hessian2.md` §15,
//! §18).

mod support;

use dubbo_hessian2::{DecodeOptions, Decoder, Limits, Value, from_slice, java::BigInteger};
use support::{bytes, values};

#[test]
fn broken_values_are_refused() {
    for (input, why) in [
        ("", "nothing"),
        ("40", "invalid lead"),
        ("45", "invalid lead"),
        ("47", "invalid lead"),
        ("50", "invalid lead"),
        ("5a", "an end as a value"),
        ("51 90", "reference into an empty table"),
        ("51 8f", "negative reference"),
        ("79 51 91", "reference beyond the table"),
        ("60", "class that is not defined"),
        ("43 01 41 90 4f 95", "class index out of range"),
        ("70 90", "type that is not defined"),
        ("4d 90 5a", "type that is not defined"),
        ("49 00 00", "truncated int"),
        ("4c 00", "truncated long"),
        ("44 00", "truncated double"),
        ("4a 00", "truncated date"),
        ("58 49 7fffffff", "claims 2^31-1 elements"),
        ("56 04 5b696e74 49 7fffffff", "claims 2^31-1 elements"),
        ("56 04 5b696e74 8f", "negative length"),
        ("58 4e", "null length"),
        ("02 f09f9880", "4-byte UTF-8"),
        ("01 80", "bad lead"),
        ("01 c020", "bad continuation"),
        ("01 c081", "overlong"),
        ("01 c3", "truncated character"),
        ("02 61", "truncated string"),
        ("42 ffff 00", "truncated binary"),
        ("52 0001 61", "string without its last chunk"),
        ("52 0001 61 90", "chunk that no string chunk follows"),
        ("41 0001 00", "binary without its last chunk"),
        ("41 0001 00 01 61", "chunk that no binary chunk follows"),
        ("43 01 41 8f", "negative field count"),
        ("43 01 41 49 7fffffff", "claims 2^31-1 fields"),
        ("43 01 41 91 90", "field name that is no string"),
        ("43 91", "class name that is no string"),
        ("43 01 41 90", "definition without a value"),
        ("43 01 41 91 01 62 60", "object without its field"),
        ("48 01 61", "unterminated map"),
        ("48 01 61 5a", "key without a value"),
        ("57 90", "unterminated list"),
        ("90 90", "two values"),
    ] {
        assert!(
            from_slice::<Value>(&bytes(input)).is_err(),
            "{why}: {input}"
        );
    }
}

#[test]
fn an_error_names_the_byte_it_stopped_at() {
    let error = from_slice::<Value>(&bytes("7a 90 45")).expect_err("invalid lead");
    assert_eq!(error.offset(), 2, "{error}");
}

#[test]
fn nesting_ends_at_a_limit_and_never_at_the_stack() {
    for (opener, what) in [
        ("79", "lists"),
        ("48", "maps as keys"),
        ("71 01 61", "typed lists"),
        ("57", "open lists"),
    ] {
        let input = bytes(opener).repeat(10_000);
        let error = from_slice::<Value>(&input).expect_err(what);
        assert!(error.is_limit(), "{what}: {error}");
    }
    let mut objects = bytes("43 01 41 91 01 62");
    objects.resize(10_000, 0x60);
    assert!(
        from_slice::<Value>(&objects)
            .expect_err("nested objects")
            .is_limit()
    );
    let definitions = bytes("43 01 41 90").repeat(10_000);
    assert!(
        from_slice::<Value>(&definitions)
            .expect_err("definitions")
            .is_limit()
    );
}

#[test]
fn skipping_is_limited_as_reading_is() {
    let input = bytes("79").repeat(10_000);
    assert!(
        Decoder::new(&input)
            .skip()
            .expect_err("nested lists")
            .is_limit()
    );
    let mut decoder = Decoder::new(b"\x58\x49\x7f\xff\xff\xff");
    assert!(decoder.skip().is_err());
}

#[test]
fn references_that_multiply_cost_no_memory() {
    // Each list holds the one before it twice: 2^100 leaves if they were copied.
    let mut input = bytes("58 c865 78");
    for index in 1..=100_i32 {
        input.extend(bytes("7a 51"));
        input.extend(dubbo_hessian2::to_vec(&index).expect("encodes"));
        input.extend(bytes("51"));
        input.extend(dubbo_hessian2::to_vec(&index).expect("encodes"));
    }
    let value: Value = from_slice(&input).expect("shares what is shared");
    assert_eq!(value.as_list().expect("a list").len(), 101);
    let shown = format!("{value:?}");
    assert!(shown.len() < 100_000, "{} characters", shown.len());
    assert!(value == value.clone());
    assert_eq!(
        dubbo_hessian2::to_vec(&value).expect("shares on the way out too"),
        input
    );
}

#[test]
fn references_that_multiply_are_cut_off_where_rust_types_cannot_share() {
    type Nested = Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<i32>>>>>>>>;
    // Eight levels of 64 references each would be 2^48 ints.
    let mut input = bytes("5f").split_off(1);
    let mut level = bytes("58 c840");
    level.extend([0x91; 64]);
    for depth in 0..7_u8 {
        let mut outer = bytes("58 c840");
        outer.extend(&level);
        for _ in 1..64 {
            outer.extend([0x51, 0x90 + 7 - depth]);
        }
        level = outer;
    }
    input.extend(level);
    let options = DecodeOptions {
        limits: Limits {
            expansion: 1 << 20,
            ..Limits::DEFAULT
        },
        ..DecodeOptions::DEFAULT
    };
    let mut decoder = Decoder::with_options(&input, &options);
    let error =
        <Nested as dubbo_hessian2::FromHessian>::decode(&mut decoder).expect_err("too much");
    assert!(error.is_limit(), "{error}");
}

/// How long this thread has been on a processor, in nanoseconds: other programs do not change that.
#[cfg(target_os = "linux")]
fn processor_time() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let first = times.split(' ').next().expect("a number");
    first.parse().expect("nanoseconds")
}

#[cfg(target_os = "linux")]
#[test]
fn generic_forms_of_wide_classes_take_linear_time() {
    use dubbo_hessian2::{Class, Object, java::bean, java::generic};
    let time = |fields: usize, objects: usize, distinct: usize| {
        let names = (0..fields).map(|field| format!("f{}", field % distinct));
        let class = Class::new("A", names);
        let object = || Object::new(class.clone(), vec![Value::Int(1); fields]).into();
        let list = Value::list((0..objects).map(|_| object()));
        let start = processor_time();
        generic::generalize(&list, generic::ClassKey::Include).expect("has a form");
        bean::describe(&list).expect("has a form");
        processor_time() - start
    };
    // As many values in all.
    let narrow = time(32, 4096, 32);
    for distinct in [1, 2048, 4096] {
        let wide = time(4096, 32, distinct);
        assert!(wide < narrow.max(10_000_000) * 8, "{narrow} ns, {wide} ns");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_thousand_small_objects_take_linear_time() {
    let time = |count: i32| {
        let mut input = bytes("43 01 41 91 01 62 58");
        input.extend(dubbo_hessian2::to_vec(&count).expect("encodes"));
        for _ in 0..count {
            input.extend([0x60, 0x91]);
        }
        let start = processor_time();
        let list: Value = from_slice(&input).expect("decodes");
        assert_eq!(
            list.as_list().expect("a list").len(),
            usize::try_from(count).expect("positive")
        );
        processor_time() - start
    };
    let (few, many) = (time(10_000), time(100_000));
    // Ten times as many must not take a hundred times as long.
    assert!(many < few.max(1_000_000) * 50, "{few} ns, {many} ns");
}

#[test]
fn a_huge_integer_is_refused_before_it_is_computed_with() {
    let words = 40_000;
    let mut input =
        bytes("43 14 6a6176612e6d6174682e426967496e7465676572 92 03 6d6167 06 7369676e756d 60 58");
    input.extend(dubbo_hessian2::to_vec(&words).expect("encodes"));
    input.extend(vec![0x91; 40_000]);
    input.push(0x91);
    let error = from_slice::<BigInteger>(&input).expect_err("too long");
    assert!(error.to_string().contains("1048576 bits"), "{error}");
}

#[test]
fn any_bytes_are_an_error_or_a_value() {
    // Every vector of the golden file, each byte of its start changed in some ways; a fuzzer goes further.
    let seeds = [
        "7f91e25f000009c401734e544b00000001",
        "4d116a6176612e7574696c2e547265654d61700161915a",
        "7a79915191",
        "430947656e24436f6c6f7291046e616d656003524544",
    ];
    for seed in seeds {
        let seed = bytes(seed);
        for at in 0..seed.len() {
            for change in [0x00, 0x51, 0x43, 0x5a, 0x7f, 0xff] {
                let mut input = seed.clone();
                input[at] = change;
                let _ = values(&input);
                input.truncate(at);
                let _ = values(&input);
            }
        }
    }
}
