//! `java.util.Date` and its children in `java.sql`.

use std::{borrow::Cow, fmt, str::FromStr, time::SystemTime};

use super::{
    Instant, InvalidValue,
    object::{from_text, java_object, present},
};
use crate::{
    DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, Shape, ToHessian,
};

/// A moment, to the millisecond. `Display` is ISO 8601 in UTC: `2017-07-14T02:40:00.123Z`.
///
/// Read from a date, from a number of milliseconds, from that text, and from what `java.sql` wraps around a date.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Date(i64);

impl Date {
    /// Milliseconds since 1970-01-01T00:00Z, negative before it.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00Z.
    pub const fn millis(self) -> i64 {
        self.0
    }
}

impl From<Date> for Instant {
    fn from(date: Date) -> Self {
        let nanos = i32::try_from(date.0.rem_euclid(1_000) * 1_000_000);
        nanos
            .ok()
            .and_then(|nanos| Self::new(date.0.div_euclid(1_000), nanos).ok())
            .expect("invariant: 2^63 ms are within Java's instants")
    }
}

impl TryFrom<Instant> for Date {
    type Error = InvalidValue;

    /// Drops what is finer than a millisecond.
    fn try_from(instant: Instant) -> Result<Self, InvalidValue> {
        let millis =
            i128::from(instant.seconds()) * 1_000 + i128::from(instant.nanos() / 1_000_000);
        i64::try_from(millis)
            .map(Self)
            .map_err(|_| InvalidValue::new(CLASS, instant.to_string(), "at most 2^63 ms from 1970"))
    }
}

impl TryFrom<SystemTime> for Date {
    type Error = InvalidValue;

    /// Drops what is finer than a millisecond.
    fn try_from(time: SystemTime) -> Result<Self, InvalidValue> {
        Instant::try_from(time)?.try_into()
    }
}

impl TryFrom<Date> for SystemTime {
    type Error = InvalidValue;

    fn try_from(date: Date) -> Result<Self, InvalidValue> {
        Instant::from(date).try_into()
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Instant::from(*self).fmt(f)
    }
}

impl FromStr for Date {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse::<Instant>()
            .map_err(|_| {
                InvalidValue::new(CLASS, text, "a moment, as in 2017-07-14T02:40:00.123Z")
            })?
            .try_into()
    }
}

impl ToHessian for Date {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.date(self.0);
        Ok(())
    }
}

impl FromHessian for Date {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.peek()? {
            Kind::Null => Err(DecodeError::null_for(CLASS)),
            Kind::Int | Kind::Long => decoder.long().map(Self),
            Kind::String => from_text(decoder),
            Kind::Object | Kind::Map => {
                let mut date = None;
                decoder.read_struct(&WRAPPED, |decoder, _| {
                    date = Some(Self::decode(decoder)?);
                    Ok(())
                })?;
                present(date, CLASS, "value")
            }
            _ => decoder.date().map(Self),
        }
    }
}

impl JavaType for Date {
    fn java_name() -> Cow<'static, str> {
        CLASS.into()
    }

    fn array_type() -> Cow<'static, str> {
        "[date".into()
    }
}

macro_rules! sql {
    ($(#[$doc:meta])* $name:ident, $class:literal) => {
        $(#[$doc])*
        ///
        /// Written as an object with the date in it, which a Java field of this class takes as well as a plain date.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(pub Date);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        java_object! {
            $name, java $class, class $class { value: Date = "value" }
            parts |at| (at.0,),
            build |value| Ok::<_, InvalidValue>(Self(value)),
            other |decoder| Date::decode(decoder).map(Self),
        }
    };
}

sql! {
    /// `java.sql.Date`: midnight, in the peer's zone, of the day that is meant.
    SqlDate, "java.sql.Date"
}
sql! {
    /// `java.sql.Time`: on 1970-01-01, in the peer's zone, the time of day that is meant.
    SqlTime, "java.sql.Time"
}
sql! {
    /// `java.sql.Timestamp`: a moment. Hessian keeps its milliseconds and loses its nanoseconds.
    SqlTimestamp, "java.sql.Timestamp"
}

static WRAPPED: Shape = Shape {
    class: "java.sql.Timestamp",
    fields: &["value"],
};
const CLASS: &str = "java.util.Date";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_iso_in_utc_and_comes_back() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_500_000_000_123, "2017-07-14T02:40:00.123Z"),
            (i64::MAX, "+292278994-08-17T07:12:55.807Z"),
            (i64::MIN, "-292275055-05-16T16:47:04.192Z"),
        ] {
            assert_eq!(Date::from_millis(millis).to_string(), text);
            assert_eq!(text.parse(), Ok(Date(millis)));
        }
        assert!("2017-07-14".parse::<Date>().is_err());
    }

    #[test]
    fn finer_parts_of_a_moment_are_dropped_downwards() {
        let instant = Instant::new(-1, 1_999_999).expect("within range");
        assert_eq!(Date::try_from(instant), Ok(Date(-999)));
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_micros(1_999);
        assert_eq!(Date::try_from(time), Ok(Date(1)));
        let far = Instant::new(31_556_889_864_403_199, 0).expect("Java's last second");
        assert!(Date::try_from(far).is_err());
    }
}
