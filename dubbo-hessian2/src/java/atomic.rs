//! `java.util.concurrent.atomic`: the value that the atomic held when it was written.

use super::{InvalidValue, object::java_object};

macro_rules! atomic {
    ($name:ident, $value:ty, $class:literal, $wire:ty, $to:expr, $from:expr) => {
        #[doc = concat!("`", $class, "`: its value.")]
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(pub $value);

        java_object! {
            $name, java $class, class $class { value: $wire = "value" }
            parts |atomic| ($to(atomic.0),),
            build |value| Ok::<_, InvalidValue>(Self($from(value))),
            other |decoder| <$value>::decode(decoder).map(Self),
        }
    };
}

atomic!(
    AtomicInteger,
    i32,
    "java.util.concurrent.atomic.AtomicInteger",
    i32,
    i32::from,
    i32::from
);
atomic!(
    AtomicLong,
    i64,
    "java.util.concurrent.atomic.AtomicLong",
    i64,
    i64::from,
    i64::from
);
// Java's class holds an int, and so does the wire.
atomic!(
    AtomicBoolean,
    bool,
    "java.util.concurrent.atomic.AtomicBoolean",
    i32,
    i32::from,
    |value| value != 0
);
