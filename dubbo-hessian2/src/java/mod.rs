//! Java's own classes, as hessian-lite puts them on the wire (`docs/spec/hessian2.md` §8, §9).
//!
//! Each type writes the form that Java writes, field by field in Java's order, and reads every form a peer is known to
//! send: the object (bound by field name, so that dubbo-go's order is as good), the map of a generic call, and, where
//! the class has one, its text. Constructors check what Java's would refuse, so that a value which exists can be sent.
//!
//! ```
//! use dubbo_hessian2::{from_slice, java::LocalDate, to_vec};
//!
//! let day: LocalDate = "2024-02-29".parse()?;
//! assert_eq!(from_slice::<LocalDate>(&to_vec(&day)?)?, day);
//! assert!(LocalDate::new(2023, 2, 29).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | family | types |
//! |---|---|
//! | points in time | [`Date`], [`Instant`], [`OffsetDateTime`], [`ZonedDateTime`], [`Calendar`], [`SqlDate`], [`SqlTime`], [`SqlTimestamp`] |
//! | calendar and clock | [`LocalDate`], [`LocalTime`], [`LocalDateTime`], [`OffsetTime`], [`Year`], [`YearMonth`], [`MonthDay`] |
//! | amounts and zones | [`Duration`], [`Period`], [`ZoneOffset`], [`ZoneId`] |
//! | numbers | [`BigDecimal`], [`BigInteger`], [`AtomicInteger`], [`AtomicLong`], [`AtomicBoolean`] |
//! | names | [`Uuid`], [`Locale`], [`ClassName`], [`Currency`], [`Uri`], [`File`] |
//! | collections that keep their class | [`LinkedList`], [`LinkedHashSet`], [`TreeSet`], [`LinkedHashMap`], [`TreeMap`], [`EnumSet`], [`BitSet`] |
//! | exceptions | [`Throwable`], [`StackFrame`] |
//!
//! [`generic`] and [`bean`] turn values into the forms of generic calls, and `json` (a feature) into those of gson.

mod atomic;
pub mod bean;
mod big_decimal;
mod big_integer;
mod bit_set;
mod calendar;
mod collections;
mod date;
mod enum_set;
pub mod generic;
mod invalid;
#[cfg(feature = "json")]
pub mod json;
mod names;
mod object;
mod stack_frame;
mod throwable;
mod time;
mod uuid;

pub use self::{
    atomic::{AtomicBoolean, AtomicInteger, AtomicLong},
    big_decimal::BigDecimal,
    big_integer::BigInteger,
    bit_set::BitSet,
    calendar::Calendar,
    collections::{LinkedHashMap, LinkedHashSet, LinkedList, TreeMap, TreeSet},
    date::{Date, SqlDate, SqlTime, SqlTimestamp},
    enum_set::EnumSet,
    invalid::InvalidValue,
    names::{ClassName, Currency, File, Locale, Uri},
    stack_frame::StackFrame,
    throwable::Throwable,
    time::{
        Duration, Instant, LocalDate, LocalDateTime, LocalTime, MonthDay, OffsetDateTime,
        OffsetTime, Period, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
    },
    uuid::Uuid,
};
