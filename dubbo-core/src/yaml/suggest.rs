/// The candidate that was most probably meant by `word`, if any is near enough.
///
/// Near is one slip in three letters and never more than three (a slip being a letter too many, missing, wrong or
/// swapped with its neighbour), or a candidate that contains the word as one of its parts, as `request-timeout` does
/// `timeout`. Case and the choice of `-`, `_` and `.` do not count.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = normal(word);
    if word.is_empty() || word.len() > MAX_LENGTH {
        return None;
    }
    let letters: Vec<char> = word.chars().collect();
    let limit = (letters.len() / 3).min(3);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let normal = normal(candidate);
            let slips = slips(&letters, &normal.chars().collect::<Vec<_>>());
            // A part of a longer name is the weaker hint, so it comes after all the slips.
            let part = normal.split('-').any(|part| part == word);
            let rank = if slips <= limit { slips } else { limit + 1 };
            (slips <= limit || part).then_some((rank, candidate))
        })
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, candidate)| candidate)
}

/// A key as keys are compared: lower case, and `-`, `_` and `.` are the same.
pub(super) fn normal(key: &str) -> String {
    key.chars()
        .map(|letter| match letter {
            '_' | '.' => '-',
            letter => letter.to_ascii_lowercase(),
        })
        .collect()
}

/// How many letters must be added, taken out, exchanged or swapped with their neighbour to turn `a` into `b`.
fn slips(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, to) in b.iter().enumerate() {
            let exchanged = last[j] + usize::from(from != to);
            row[j + 1] = exchanged.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Longer words are no slips of a known name, and comparing them would take long.
const MAX_LENGTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_nothing_far_fetched() {
        let names = ["protocol", "port", "request-timeout", "tps.limit.rate"];
        for (word, want) in [
            ("protcol", Some("protocol")),
            ("Port", Some("port")),
            ("prot", Some("port")),
            ("timeout", Some("request-timeout")),
            ("request_timeouts", Some("request-timeout")),
            ("tps_limit_rates", Some("tps.limit.rate")),
            ("pxrx", None),
            ("pr", None),
            ("metrics", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), want, "{word:?}");
        }
        assert_eq!(nearest(&"p".repeat(100_000), names), None);
    }
}
