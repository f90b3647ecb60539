//! `java.time` (`docs/spec/hessian2.md` §9.4).
//!
//! Fields are `i32` and `i64`, as Java's; texts are those of Java's `toString` and `parse`.

mod duration;
mod instant;
mod local_date;
mod local_date_time;
mod local_time;
mod offset;
mod period;
mod scan;
mod year;
mod zone;
mod zoned_date_time;

pub use self::{
    duration::Duration,
    instant::Instant,
    local_date::LocalDate,
    local_date_time::LocalDateTime,
    local_time::LocalTime,
    offset::{OffsetDateTime, OffsetTime},
    period::Period,
    year::{MonthDay, Year, YearMonth},
    zone::{ZoneId, ZoneOffset},
    zoned_date_time::ZonedDateTime,
};
