//! Times as C++ streams print them: six significant digits unless the script says otherwise.

/// What `std::ostream` prints without `setprecision`.
const DEFAULT_DIGITS: u32 = 6;
const MAX_DIGITS: u32 = 19;

/// A time in seconds as nanoseconds, and how many significant digits it was written with.
///
/// `12.3457`, `5`, `1e-05`; perhaps with a sign and a unit, as `ns3::Time` prints it: `+5.5s`, `+1.2e+07ns`.
pub(super) fn parse(text: &[u8]) -> Option<(i64, u32)> {
    plain(text).or_else(|| any(text))
}

/// Digits and perhaps a point, as nearly all are.
#[inline]
fn plain(text: &[u8]) -> Option<(i64, u32)> {
    const SAFE: usize = 18;
    let (mut value, mut point, mut digits) = (0u64, None, 0u32);
    for (at, byte) in text.get(..text.len().min(SAFE + 1))?.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            digits += u32::from(digits > 0 || digit > 0);
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        } else if *byte == b'.' && point.is_none() && at > 0 {
            point = Some(at);
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |at| text.len() - 1 - at);
    if text.is_empty() || text.len() > SAFE || point == Some(text.len() - 1) || decimals > 9 {
        return None;
    }
    let value = value.checked_mul(10u64.pow(9 - decimals as u32))?;
    Some((i64::try_from(value).ok()?, digits))
}

fn any(text: &[u8]) -> Option<(i64, u32)> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let unit = text.iter().rposition(u8::is_ascii_digit)? + 1;
    let (number, unit) = text.split_at(unit);
    let places: i32 = match unit {
        b"" | b"s" => 9,
        b"ms" => 6,
        b"us" => 3,
        b"ns" => 0,
        _ => return None,
    };
    let mark = number.iter().position(|byte| *byte == b'e' || *byte == b'E');
    let (mantissa, exponent) = match mark {
        None => (number, 0),
        Some(at) => (&number[..at], exponent(&number[at + 1..])?),
    };
    let (mut value, mut decimals, mut digits): (i128, Option<i32>, u32) = (0, None, 0);
    for byte in mantissa {
        match byte {
            b'0'..=b'9' => {
                digits += u32::from(digits > 0 || *byte != b'0');
                if digits > MAX_DIGITS {
                    return None;
                }
                value = value * 10 + i128::from(byte - b'0');
                decimals = decimals.map(|count| count + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            _ => return None,
        }
    }
    if !mantissa.first()?.is_ascii_digit() || decimals == Some(0) {
        return None;
    }
    let shift = places + exponent - decimals.unwrap_or(0);
    let scaled = match shift {
        0..=18 => value.checked_mul(10i128.pow(shift.unsigned_abs()))?,
        -36..=-1 => {
            let divisor = 10i128.pow(shift.unsigned_abs());
            (value + divisor / 2) / divisor
        }
        _ if value == 0 => 0,
        ..-36 => 0,
        _ => return None,
    };
    Some((i64::try_from(scaled).ok()?, digits))
}

fn exponent(text: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(text).ok()?;
    let value: i32 = text.parse().ok()?;
    (-40..=40).contains(&value).then_some(value)
}

/// How many digits the times of a file have: trailing zeros are not printed, so the longest tells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Precision(u32);

impl Precision {
    pub(super) fn saw(&mut self, digits: u32) {
        self.0 = self.0.max(digits);
    }

    pub(super) fn digits(self) -> u32 {
        self.0.max(DEFAULT_DIGITS)
    }

    /// The step between two times near `t_ns` that can be told apart, at least 1 ns.
    pub(super) fn step_ns(self, t_ns: i64) -> i64 {
        let size = t_ns.unsigned_abs().max(1).ilog10();
        10i64.pow((size + 1).saturating_sub(self.digits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, t_ns, digits) in [
            ("0", 0, 0),
            ("5", 5_000_000_000, 1),
            ("0.0460392", 46_039_200, 6),
            ("12.3457", 12_345_700_000, 6),
            ("1e-05", 10_000, 1),
            ("1.23457e+06", 1_234_570_000_000_000, 6),
            ("+5.5s", 5_500_000_000, 2),
            ("+1.2e+07ns", 12_000_000, 2),
            ("1.0000000009", 1_000_000_001, 11),
            ("0e40", 0, 0),
        ] {
            assert_eq!(parse(text.as_bytes()), Some((t_ns, digits)), "{text}");
        }
        for bad in [
            "",
            "-1",
            ".5",
            "5.",
            "1e",
            "1e99",
            "1e40",
            "1..2",
            "0x1",
            "5h",
            "s",
            "nan",
            "99999999999999999999",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn short_and_long_agree() {
        for whole in
            ["0", "00", "5", "012", "9223372036", "9223372037", "123456789012345678", "99999999999999999999"]
        {
            for rest in ["", ".", ".0", ".5", ".000000001", ".0000000009", ".5.5", "e1", ",5", "s"] {
                let text = format!("{whole}{rest}");
                let found = plain(text.as_bytes());
                assert!(found.is_none() || found == any(text.as_bytes()), "{text}");
            }
        }
        assert_eq!(plain(b"12.5"), Some((12_500_000_000, 3)));
    }

    #[test]
    fn steps_grow_with_time() {
        let mut precision = Precision::default();
        precision.saw(2);
        assert_eq!(precision.step_ns(9_999_999_999), 10_000);
        assert_eq!(precision.step_ns(10_000_000_000), 100_000);
        assert_eq!(precision.step_ns(0), 1);
        precision.saw(12);
        assert_eq!(precision.step_ns(10_000_000_000), 1);
    }
}
