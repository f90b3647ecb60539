use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

/// A moment of UTC, to the second: `2024-02-29 23:59:59`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) day: Day,
    second: u64,
}

/// A day of UTC: `2024-02-29`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    year: u64,
    month: u64,
    /// Of the month.
    date: u64,
}

impl Moment {
    /// What is before 1970 is its beginning.
    pub(super) fn of(time: SystemTime) -> Self {
        let since = time
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        Self {
            day: Day::after_epoch(since / SECONDS_A_DAY),
            second: since % SECONDS_A_DAY,
        }
    }
}

impl Day {
    /// By the calendar in which a year begins in March, so that its leap day is its last, and 400 years are an era.
    fn after_epoch(days: u64) -> Self {
        let days = days + DAYS_FROM_ERA_TO_EPOCH;
        let (era, of_era) = (days / DAYS_AN_ERA, days % DAYS_AN_ERA);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (DAYS_AN_ERA - 1)) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let date = of_year - (153 * month + 2) / 5 + 1;
        let is_next_year = month >= 10;
        Self {
            year: era * 400 + year + u64::from(is_next_year),
            month: if is_next_year { month - 9 } else { month + 3 },
            date,
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.date)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute) = (self.second / 3_600, self.second / 60 % 60);
        write!(
            f,
            "{} {hour:02}:{minute:02}:{:02}",
            self.day,
            self.second % 60
        )
    }
}

const SECONDS_A_DAY: u64 = 86_400;
const DAYS_AN_ERA: u64 = 146_097;

/// From the first of March of the year 0.
const DAYS_FROM_ERA_TO_EPOCH: u64 = 719_468;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn seconds_are_dates_of_the_calendar() {
        for (seconds, want) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (4_107_542_399, "2100-02-28 23:59:59"),
        ] {
            let moment = Moment::of(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(moment.to_string(), want, "{seconds}");
        }
        assert_eq!(
            Moment::of(UNIX_EPOCH - Duration::from_secs(1)).to_string(),
            "1970-01-01 00:00:00"
        );
    }
}
