//! What time it is where the machine stands, as far as nights are concerned.
//!
//! The time without daylight saving is good enough for that. Where the zone cannot be known it is UTC.

use std::{env, fs, path::Path};

/// The seconds between UTC and the time of the machine, east of Greenwich being positive.
pub(super) fn local_offset() -> i32 {
    let zone = env::var("TZ").ok();
    let offset = match zone.as_deref().map(|zone| zone.trim_start_matches(':')) {
        None => of_file(Path::new("/etc/localtime")),
        Some(zone) => of_rule(zone).or_else(|| of_file(&Path::new(ZONES).join(zone))),
    };
    offset.unwrap_or_default()
}

fn of_file(path: &Path) -> Option<i32> {
    of_zone(&fs::read(path).ok()?)
}

/// The offset of a file of the time zone database: its last line is a rule for the time that it has no table for.
fn of_zone(file: &[u8]) -> Option<i32> {
    let lines = file.strip_prefix(b"TZif")?.strip_suffix(b"\n")?;
    let line = lines.rsplit(|byte| *byte == b'\n').next()?;
    of_rule(std::str::from_utf8(line).ok()?)
}

/// The offset of a rule of POSIX, such as `CST-8` or `<+0330>-3:30`: the hours to add to come to UTC. What it says about
/// daylight saving is left aside.
fn of_rule(rule: &str) -> Option<i32> {
    let rest = if let Some(quoted) = rule.strip_prefix('<') {
        quoted.split_once('>')?.1
    } else {
        let name = rule.bytes().take_while(u8::is_ascii_alphabetic).count();
        rule.get(name..).filter(|_| name >= 3)?
    };
    let (sign, rest) = match rest.as_bytes().first()? {
        b'-' => (1, &rest[1..]),
        b'+' => (-1, &rest[1..]),
        _ => (-1, rest),
    };
    let length = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b':')
        .count();
    let mut seconds = 0;
    for (part, unit) in rest[..length].split(':').zip([3600, 60, 1]) {
        let number: u16 = part.parse().ok()?;
        seconds += i32::from(number) * unit;
    }
    (seconds <= FURTHEST).then_some(sign * seconds)
}

/// Where the time zone database is.
const ZONES: &str = "/usr/share/zoneinfo";

/// What POSIX allows.
const FURTHEST: i32 = 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_that_of_the_rule() {
        for (rule, want) in [
            ("CST-8", Some(8 * 3600)),
            ("UTC0", Some(0)),
            ("EST5EDT,M3.2.0,M11.1.0", Some(-5 * 3600)),
            ("EST+5", Some(-5 * 3600)),
            ("<+0330>-3:30", Some(12_600)),
            ("<-03>3", Some(-3 * 3600)),
            ("ABC-1:2:3", Some(3723)),
            ("Asia/Shanghai", None),
            ("UTC", None),
            ("", None),
            ("<+03", None),
            ("AB-8", None),
            ("ABC-", None),
            ("ABC-99999", None),
            ("ABC-25", None),
            ("ABC-1::", None),
        ] {
            assert_eq!(of_rule(rule), want, "{rule}");
        }
    }

    #[test]
    fn the_rule_is_the_last_line_of_a_zones_file() {
        for (file, want) in [
            (
                &b"TZif2\0\0\n\xff\0TZif2\0\n\x01\nCST-8\n"[..],
                Some(8 * 3600),
            ),
            (b"TZif2\0\n\n", None),
            (b"TZif2\0CST-8", None),
            (b"CST-8\n", None),
            (b"TZif\n\xff\n", None),
            (b"", None),
        ] {
            assert_eq!(of_zone(file), want, "{file:?}");
        }
    }
}
