//! `java.time.ZoneOffset` and `java.time.ZoneId`.

use std::{fmt, str::FromStr, sync::Arc};

use super::scan;
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// How far a clock is ahead of UTC, at most 18 hours either way. `Display` is `Z`, `+08:00` or `-01:30:15`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ZoneOffset {
    seconds: i32,
}

impl ZoneOffset {
    /// UTC itself.
    pub const UTC: Self = Self { seconds: 0 };

    /// From −64,800 to 64,800 seconds.
    pub fn from_seconds(seconds: i32) -> Result<Self, InvalidValue> {
        Self::checked(seconds)
            .ok_or_else(|| InvalidValue::new(OFFSET, seconds.to_string(), "at most 18 hours"))
    }

    /// Seconds ahead of UTC, negative behind it.
    pub fn seconds(self) -> i32 {
        self.seconds
    }

    fn checked(seconds: i32) -> Option<Self> {
        (-MAX_OFFSET..=MAX_OFFSET)
            .contains(&seconds)
            .then_some(Self { seconds })
    }

    pub(super) fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Self> {
        if scanner.take('Z') {
            return Some(Self::UTC);
        }
        let sign = if scanner.take('-') {
            -1
        } else {
            scanner.need('+')?;
            1
        };
        let hour = match scanner.two() {
            Some(hour) => hour,
            None => scanner.digits(1, 1)?.parse().ok()?,
        };
        let mut below = || -> Option<i32> {
            if scanner.take(':')
                || scanner
                    .rest()
                    .starts_with(|next: char| next.is_ascii_digit())
            {
                scanner.two().filter(|part| *part < 60)
            } else {
                Some(0)
            }
        };
        let (minute, second) = (below()?, below()?);
        Self::checked(sign * (hour * 3_600 + minute * 60 + second))
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds == 0 {
            return f.write_str("Z");
        }
        let sign = if self.seconds < 0 { '-' } else { '+' };
        let seconds = self.seconds.abs();
        write!(f, "{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
        match seconds % 60 {
            0 => Ok(()),
            second => write!(f, ":{second:02}"),
        }
    }
}

impl FromStr for ZoneOffset {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            OFFSET,
            text,
            "Z or at most 18 hours, as in +08:00",
            Self::scan,
        )
    }
}

java_object! {
    ZoneOffset,
    java "java.time.ZoneOffset",
    class "com.alibaba.com.caucho.hessian.io.java8.ZoneOffsetHandle" { seconds: i32 = "seconds" }
    parts |offset| (offset.seconds,),
    build Self::from_seconds,
    other from_text,
    described { "totalSeconds": i32 },
}

/// The name of a zone, such as `Asia/Shanghai`, `UTC+8` or `Z`.
///
/// Only its form is checked: which names exist is for the peer's time zone data to say.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ZoneId(Arc<str>);

impl ZoneId {
    /// Letters, digits and `/ . _ ~ + - :`, at least one of them.
    pub fn new(id: &str) -> Result<Self, InvalidValue> {
        id.parse()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<ZoneOffset> for ZoneId {
    fn from(offset: ZoneOffset) -> Self {
        Self(offset.to_string().into())
    }
}

impl fmt::Display for ZoneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ZoneId {
    type Err = InvalidValue;

    fn from_str(id: &str) -> Result<Self, InvalidValue> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~+-:".contains(&byte);
        if id.is_empty() || !id.bytes().all(known) {
            return Err(InvalidValue::new(
                "java.time.ZoneId",
                id,
                "the name of a zone, as in Asia/Shanghai",
            ));
        }
        Ok(Self(id.into()))
    }
}

java_object! {
    ZoneId,
    java "java.time.ZoneId",
    class "com.alibaba.com.caucho.hessian.io.java8.ZoneIdHandle" { zone_id: String = "zoneId" }
    parts |zone| (zone.0.to_string(),),
    build |zone_id: String| zone_id.parse::<Self>(),
    other from_text,
}

const OFFSET: &str = "java.time.ZoneOffset";
const MAX_OFFSET: i32 = 18 * 3_600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_written_and_read_as_java_s() {
        for (text, seconds, shown) in [
            ("Z", 0, "Z"),
            ("z", 0, "Z"),
            ("+00:00", 0, "Z"),
            ("+08:00", 28_800, "+08:00"),
            ("+8", 28_800, "+08:00"),
            ("+08", 28_800, "+08:00"),
            ("-0130", -5_400, "-01:30"),
            ("-01:30:15", -5_415, "-01:30:15"),
            ("+18:00", 64_800, "+18:00"),
        ] {
            let offset: ZoneOffset = text.parse().expect(text);
            assert_eq!(offset.seconds(), seconds, "{text}");
            assert_eq!(offset.to_string(), shown);
        }
        for text in ["", "8", "+18:01", "+08:60", "+08:0", "+08:00:00:00", "UTC"] {
            assert!(text.parse::<ZoneOffset>().is_err(), "{text}");
        }
        assert!(ZoneOffset::from_seconds(i32::MIN).is_err());
    }

    #[test]
    fn zones_are_checked_for_form_only() {
        for id in ["Asia/Shanghai", "Etc/GMT+8", "UTC+08:00", "Z", "No/Such"] {
            assert_eq!(ZoneId::new(id).expect(id).as_str(), id);
        }
        for id in ["", "Asia Shanghai", "中", "[x]"] {
            assert!(ZoneId::new(id).is_err(), "{id}");
        }
    }
}
