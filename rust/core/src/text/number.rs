//! Numbers and times as logs write them: exact integers, checked.

/// So many digits are always within 64 bits.
const SAFE_DIGITS: usize = 19;

/// A decimal number: digits only.
#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.len() > SAFE_DIGITS {
        return long_decimal(digits);
    }
    let (mut value, mut wrong) = (0u64, digits.is_empty());
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        wrong |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (!wrong).then_some(value)
}

#[cold]
fn long_decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Values of hexadecimal digits; 255 for other bytes.
const HEX: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut digit = 0u8;
    while digit < 16 {
        let letter = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
        values[letter as usize] = digit;
        values[letter.to_ascii_uppercase() as usize] = digit;
        digit += 1;
    }
    values
};

/// A decimal number, or a hexadecimal one after `0x`.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<u64> {
    let Some(digits) = text.strip_prefix(b"0x") else {
        return decimal(text);
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut value, mut seen) = (0u64, 0u8);
    for byte in digits {
        let digit = HEX[usize::from(*byte)];
        seen |= digit;
        value = value << 4 | u64::from(digit);
    }
    (seen < 16).then_some(value)
}

/// A decimal number of whatever integer type the column has.
#[inline]
pub(crate) fn fit<T: TryFrom<u64>>(text: &[u8]) -> Option<T> {
    T::try_from(decimal(text)?).ok()
}

/// `12`, `12.345` or `12,345` times ten to the `places`, further decimals cut off; and the number of decimals.
#[inline]
pub(crate) fn scaled(text: &[u8], places: u8) -> Option<(i64, u8)> {
    if text.len() > SAFE_DIGITS {
        return long_scaled(text, places);
    }
    let (mut value, mut point) = (0u64, None);
    for (at, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if matches!(byte, b'.' | b',') && point.is_none() && at > 0 {
            point = Some(at);
        } else {
            return None;
        }
    }
    let written = match point {
        _ if text.is_empty() => return None,
        None => 0,
        Some(at) if at + 1 == text.len() => return None,
        Some(at) => (text.len() - 1 - at) as u8,
    };
    let value = if written > places {
        value / POWERS[usize::from(written - places)]
    } else {
        value.checked_mul(*POWERS.get(usize::from(places - written))?)?
    };
    Some((i64::try_from(value).ok()?, written))
}

/// Powers of ten.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

#[cold]
fn long_scaled(text: &[u8], places: u8) -> Option<(i64, u8)> {
    let mut value: i64 = 0;
    let mut decimals: Option<u8> = None;
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    for byte in text {
        match (byte, decimals) {
            (b'0'..=b'9', _) => {
                if decimals.is_none_or(|count| count < places) {
                    value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                }
                decimals = decimals.map(|count| count.saturating_add(1));
            }
            (b'.' | b',', None) => decimals = Some(0),
            _ => return None,
        }
    }
    if decimals == Some(0) {
        return None;
    }
    let written = decimals.unwrap_or(0);
    for _ in written.min(places)..places {
        value = value.checked_mul(10)?;
    }
    Some((value, written))
}

/// Seconds as nanoseconds, and the number of decimals.
#[inline]
pub(crate) fn seconds(text: &[u8]) -> Option<(i64, u8)> {
    scaled(text, 9)
}

/// Milliseconds, perhaps with decimals, as nanoseconds.
pub(crate) fn milliseconds(text: &[u8]) -> Option<i64> {
    scaled(text, 6).map(|(value, _)| value)
}

/// Nanoseconds that one step of a time with so many decimals is worth.
pub(crate) fn resolution_ns(decimals: u8) -> i64 {
    10i64.pow(9 - u32::from(decimals.min(9)))
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar; None if the date does not exist.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    // Years that begin in March put the leap day last (Hinnant, "chrono-compatible low-level date algorithms").
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(integer(b"0xfbc01b55"), Some(0xfbc0_1b55));
        assert_eq!(integer(b"0"), Some(0));
        assert_eq!(fit::<i16>(b"32768"), None);
        for bad in [&b""[..], b"-1", b"+1", b"1a", b"0x", b"0x11111111111111111", b"0xg"] {
            assert_eq!(integer(bad), None);
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(seconds(b"1795249751.740964"), Some((1_795_249_751_740_964_000, 6)));
        assert_eq!(seconds(b"1,000000001"), Some((1_000_000_001, 9)));
        assert_eq!(seconds(b"7"), Some((7_000_000_000, 0)));
        assert_eq!(seconds(b"0.1234567899"), Some((123_456_789, 10)));
        assert_eq!(milliseconds(b"10.679"), Some(10_679_000));
        for bad in [&b""[..], b".5", b"5.", b"1.2.3", b"1e3", b"-1", b"9223372037"] {
            assert_eq!(seconds(bad), None);
        }
    }

    /// What is read the short way is what the long way reads.
    #[test]
    fn short_and_long_agree() {
        let parts =
            ["", "0", "7", "00012", "1844674407370955161", "9223372036854775807", "9223372037", "999999999"];
        for whole in parts {
            for decimals in ["", ".", ".5", ",25", ".000000001", ".1234567899", ".5.5", ".-1", "x"] {
                let text = format!("{whole}{decimals}");
                for places in [0, 3, 6, 9] {
                    let long = long_scaled(text.as_bytes(), places);
                    assert_eq!(scaled(text.as_bytes(), places), long, "{text} {places}");
                }
                let long = if text.is_empty() { None } else { long_decimal(text.as_bytes()) };
                assert_eq!(decimal(text.as_bytes()), long, "{text}");
            }
        }
    }

    #[test]
    fn calendar() {
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(2000, 2, 29), Some(11_016));
        assert_eq!(days(2026, 11, 21), Some(20_778));
        assert_eq!(days(2026, 2, 29), None);
        assert_eq!(days(2026, 13, 1), None);
    }
}
