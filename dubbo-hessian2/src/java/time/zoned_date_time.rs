//! `java.time.ZonedDateTime`.

use std::{fmt, str::FromStr};

use super::{Instant, LocalDateTime, OffsetDateTime, ZoneId, ZoneOffset, scan};
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// What a clock shows in a zone. `Display` is `2024-02-29T10:15:30+08:00[Asia/Shanghai]`.
///
/// Whether that offset is in force in that zone then is not checked here, for want of time zone data.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ZonedDateTime {
    /// What the clock shows.
    pub date_time: LocalDateTime,
    /// How far it is ahead of UTC then.
    pub offset: ZoneOffset,
    /// The zone; the text of the offset where there is no other.
    pub zone: ZoneId,
}

impl ZonedDateTime {
    /// A clock in a zone.
    pub fn new(date_time: LocalDateTime, offset: ZoneOffset, zone: ZoneId) -> Self {
        Self {
            date_time,
            offset,
            zone,
        }
    }

    /// The moment at which the clock shows this.
    pub fn to_instant(&self) -> Instant {
        Instant::of(self.date_time, self.offset)
    }
}

impl From<OffsetDateTime> for ZonedDateTime {
    fn from(at: OffsetDateTime) -> Self {
        Self::new(at.date_time, at.offset, at.offset.into())
    }
}

impl fmt::Display for ZonedDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.date_time, self.offset)?;
        if self.zone == self.offset.into() {
            Ok(())
        } else {
            write!(f, "[{}]", self.zone)
        }
    }
}

impl FromStr for ZonedDateTime {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            "java.time.ZonedDateTime",
            text,
            "a day, a time, an offset and a zone, as in 2024-02-29T10:15:30+08:00[Asia/Shanghai]",
            |scanner| {
                let at = OffsetDateTime::scan(scanner)?;
                let zone = scanner.bracketed();
                Some(match zone {
                    Some(zone) => Self::new(at.date_time, at.offset, zone.parse().ok()?),
                    None => at.into(),
                })
            },
        )
    }
}

java_object! {
    ZonedDateTime,
    java "java.time.ZonedDateTime",
    class "com.alibaba.com.caucho.hessian.io.java8.ZonedDateTimeHandle" {
        offset: ZoneOffset = "offset", date_time: LocalDateTime = "dateTime", zone: String = "zoneId",
    }
    parts |at| (at.offset, at.date_time, at.zone.to_string()),
    build |offset, date_time, zone: String| zone.parse().map(|zone| Self::new(date_time, offset, zone)),
    other from_text,
    described { "dateTime": LocalDateTime, "offset": ZoneOffset, "zone": ZoneId },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_shown_when_it_says_more_than_the_offset() {
        for (text, zone) in [
            ("2024-02-29T10:15+08:00[Asia/Shanghai]", "Asia/Shanghai"),
            ("2024-02-29T10:15+08:00", "+08:00"),
            ("2024-02-29T10:15Z", "Z"),
            ("2024-02-29T10:15Z[UTC]", "UTC"),
        ] {
            let at: ZonedDateTime = text.parse().expect(text);
            assert_eq!(at.zone.as_str(), zone);
            assert_eq!(at.to_string(), text);
        }
        for text in [
            "2024-02-29T10:15+08:00[",
            "2024-02-29T10:15+08:00[]",
            "2024-02-29T10:15[UTC]",
        ] {
            assert!(text.parse::<ZonedDateTime>().is_err(), "{text}");
        }
    }
}
