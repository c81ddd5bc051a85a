//! Time stamps as users put them before samples: `date +%s.%N`, `date -Ins`, alone or before each line.

use super::number::{days, decimal, fit, seconds};
use super::words::Words;

/// A time of day in nanoseconds since the epoch, and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub t_ns: i64,
    pub decimals: u8,
    /// A calendar time without a zone: taken as UTC.
    pub zoneless: bool,
    /// A bare integer, which could be something else.
    pub bare: bool,
}

/// The time stamp that a line begins with, perhaps after a label (`timestamp:`), and the rest of the line.
#[inline]
pub(crate) fn leading(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let label = line.iter().position(|byte| !byte.is_ascii_alphabetic())?;
    let line = if label > 0 { line[label..].strip_prefix(b":")?.trim_ascii_start() } else { line };
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let mut words = Words(line);
    let word = words.next()?;
    let word = word.strip_suffix(b":").unwrap_or(word);
    if let Some(stamp) = epoch(word).or_else(|| iso(word)) {
        return Some((stamp, words.0));
    }
    // "2026-11-21 08:00:22.5+00:00": date and time apart
    let mut after = words;
    let time = after.next()?;
    let time = time.strip_suffix(b":").unwrap_or(time);
    (word.len() == 10 && word[4] == b'-').then_some(())?;
    Some((calendar(word, time)?, after.0))
}

/// `1795248023.088958285`, or an integer of seconds, milli-, micro- or nanoseconds (by its length).
fn epoch(word: &[u8]) -> Option<Stamp> {
    let whole = word.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(word.len());
    let bare = whole == word.len();
    let (t_ns, decimals) = match (whole, bare) {
        (9..=10, _) => seconds(word)?,
        (13, true) => (fit::<i64>(word)?.checked_mul(1_000_000)?, 3),
        (16, true) => (fit::<i64>(word)?.checked_mul(1000)?, 6),
        (19, true) => (fit(word)?, 9),
        _ => return None,
    };
    Some(Stamp { t_ns, decimals, zoneless: false, bare })
}

/// `2026-11-21T08:00:22,860736727+00:00`
fn iso(word: &[u8]) -> Option<Stamp> {
    let (date, time) = (word.get(..10)?, word.get(11..)?);
    (word[10] == b'T').then(|| calendar(date, time))?
}

fn calendar(date: &[u8], time: &[u8]) -> Option<Stamp> {
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let day = days(fit(&date[..4])?, fit(&date[5..7])?, fit(&date[8..])?)?;
    let zone_at = time.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b':' | b'.' | b','));
    let (clock, zone) = time.split_at(zone_at.unwrap_or(time.len()));
    if clock.len() < 8 || clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    let (hour, minute): (i64, i64) = (fit(&clock[..2])?, fit(&clock[3..5])?);
    let (second_ns, decimals) = seconds(&clock[6..])?;
    if hour > 23 || minute > 59 || second_ns > 60_999_999_999 {
        return None;
    }
    let minutes = (day * 24 + hour) * 60 + minute - zone_minutes(zone)?;
    let t_ns = minutes.checked_mul(60_000_000_000)?.checked_add(second_ns)?;
    Some(Stamp { t_ns, decimals, zoneless: zone.is_empty(), bare: false })
}

/// Minutes east of Greenwich: `Z`, `+01:00`, `-0330`, or nothing.
fn zone_minutes(zone: &[u8]) -> Option<i64> {
    let (sign, digits) = match zone {
        b"" | b"Z" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [a, b] => ([*a, *b], [b'0'; 2]),
        [a, b, c, d] | [a, b, b':', c, d] => ([*a, *b], [*c, *d]),
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (fit(&hours)?, decimal(&minutes)? as i64);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits() {
        for (line, t_ns, decimals) in [
            ("1795248022.860736727", 1_795_248_022_860_736_727, 9),
            ("1795248022", 1_795_248_022_000_000_000, 0),
            ("1795248022860", 1_795_248_022_860_000_000, 3),
            ("1795248022860736", 1_795_248_022_860_736_000, 6),
            ("1795248022860736727", 1_795_248_022_860_736_727, 9),
            ("2026-11-21T08:00:22,860736727+00:00", 1_795_248_022_860_736_727, 9),
            ("2026-11-21T09:30:22.8607+0130", 1_795_248_022_860_700_000, 4),
            ("2026-11-21T08:00:22Z", 1_795_248_022_000_000_000, 0),
            ("2026-11-21 03:00:22.5-05", 1_795_248_022_500_000_000, 1),
            ("timestamp:1795248022.5", 1_795_248_022_500_000_000, 1),
            ("Time: 1795248022.5", 1_795_248_022_500_000_000, 1),
        ] {
            let (stamp, rest) = leading(line.as_bytes()).unwrap();
            assert_eq!((stamp.t_ns, stamp.decimals, rest.len()), (t_ns, decimals, 0), "{line}");
            let prefixed = format!("{line}: ESTAB 0");
            assert_eq!(leading(prefixed.as_bytes()).unwrap().1, b" ESTAB 0");
        }
        assert!(leading(b"2026-11-21T08:00:22").unwrap().0.zoneless);
    }

    #[test]
    fn not_stamps() {
        for line in [
            "",
            "12",
            "0 60816 10.0.0.1:1",
            "12345678901",
            "2026-02-30T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "1795248022.",
            "2026-11-21",
        ] {
            assert_eq!(leading(line.as_bytes()), None, "{line}");
        }
    }
}
