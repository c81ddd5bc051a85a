//! Numbers as Python's `repr` writes them, without the machinery that serves all formats.

/// Digits up to which every decimal is the shortest that stands for its double.
const EXACT: u64 = 1_000_000_000_000_000;
const TENS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The digits of each number below a hundred.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// A whole number.
#[inline]
pub fn push_int(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    push_digits(out, value.unsigned_abs(), 1);
}

/// At least so many digits.
#[inline]
fn push_digits(out: &mut String, mut value: u64, least: usize) {
    if value < 10 && least == 1 {
        out.push((b'0' + value as u8) as char);
        return;
    }
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value > 0 {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    at = at.min(digits.len() - least);
    // Digits are ASCII.
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// `repr(round(value, decimals))` of a finite value, for at most nine decimals.
#[inline]
pub fn push_rounded(out: &mut String, value: f64, decimals: usize) {
    match scaled(value.abs(), TENS[decimals]) {
        Some(units) => {
            if value.is_sign_negative() {
                out.push('-');
            }
            push_decimal(out, units, decimals);
        }
        None => {
            // Larger than what has decimals that count, or nearly so.
            let rounded = format!("{value:.decimals$}").parse().unwrap_or(value);
            push_float(out, rounded);
        }
    }
}

/// The nearest whole number of `1 / scale`, ties to the even one, told from the exact value of the double; `None`
/// beyond 15 digits.
#[inline]
fn scaled(value: f64, scale: u64) -> Option<u64> {
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i32 - 1075;
    if exponent >= 0 {
        return None;
    }
    // Of numbers below the normal ones, nothing is left of nine decimals.
    let shift = exponent.unsigned_abs();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exact = u128::from(mantissa) * u128::from(scale);
    if shift > 100 {
        return Some(0);
    }
    let (whole, rest, half) = (exact >> shift, exact & ((1 << shift) - 1), 1u128 << (shift - 1));
    let units = whole + u128::from(rest > half || (rest == half && whole & 1 == 1));
    u64::try_from(units).ok().filter(|units| *units < EXACT)
}

/// So many units of the last decimal.
#[inline]
fn push_decimal(out: &mut String, mut units: u64, decimals: usize) {
    if units == 0 {
        out.push_str("0.0");
        return;
    }
    let mut places = decimals;
    while places > 0 && units.is_multiple_of(10) {
        units /= 10;
        places -= 1;
    }
    // Python turns to exponents below 0.0001.
    let count = units.ilog10() as usize + 1;
    if places > 3 + count {
        let leading = TENS[count - 1];
        push_digits(out, units / leading, 1);
        if count > 1 {
            out.push('.');
            push_digits(out, units % leading, count - 1);
        }
        out.push_str("e-");
        push_digits(out, (places - count + 1) as u64, 2);
        return;
    }
    push_digits(out, units / TENS[places], 1);
    out.push('.');
    push_digits(out, units % TENS[places], places.max(1));
}

/// `repr(value)` of a finite value: the fewest digits that stand for the double, of those the nearest to it, of two as
/// near the even one. Rust's standard library promises the first of the three only.
pub fn push_float(out: &mut String, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value.abs());
    if value.is_sign_negative() {
        out.push('-');
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let point = mantissa.find('.').unwrap_or(mantissa.len());
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let digits = digits.trim_matches('0');
    if digits.is_empty() {
        out.push_str("0.0");
        return;
    }
    // Of the first digit.
    let exponent = exponent.parse::<i32>().unwrap_or(0) + point as i32 - 1 - zeros as i32;
    if !(-4..16).contains(&exponent) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        push_digits(out, u64::from(exponent.unsigned_abs()), 2);
        return;
    }
    if exponent < 0 {
        out.push_str("0.");
        out.push_str(&"0000"[..(-exponent - 1) as usize]);
        out.push_str(digits);
        return;
    }
    let whole = exponent as usize + 1;
    if digits.len() > whole {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    } else {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
        out.push_str(".0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounded(value: f64, decimals: usize) -> String {
        let mut out = String::new();
        push_rounded(&mut out, value, decimals);
        out
    }

    fn float(value: f64) -> String {
        let mut out = String::new();
        push_float(&mut out, value);
        out
    }

    #[test]
    #[allow(clippy::excessive_precision)]
    fn floats_as_python_has_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (1e-4, "0.0001"),
            (9e-5, "9e-05"),
            (1.5e-7, "1.5e-07"),
            (123456.789, "123456.789"),
            (1e15, "1000000000000000.0"),
            (1.2345678901234567e15, "1234567890123456.8"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (0.1, "0.1"),
            // As near to two: the even one.
            (562_949_953_421_312.25, "562949953421312.2"),
            (562949953421312.75, "562949953421312.8"),
            (5.684341886080802e-14, "5.684341886080802e-14"),
            (9007199254740993.0, "9007199254740992.0"),
            (2.2250738585072014e-308, "2.2250738585072014e-308"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (f64::from_bits(1), "5e-324"),
            (9.5367431640625e-07, "9.5367431640625e-07"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn rounds_as_python_does() {
        for (value, decimals, text) in [
            (0.0, 9, "0.0"),
            (-0.0, 3, "-0.0"),
            (9e-5, 9, "9e-05"),
            (0.00019, 9, "0.00019"),
            (1.23e-7, 9, "1.23e-07"),
            (1e-9, 9, "1e-09"),
            (4e-10, 9, "0.0"),
            (-0.0004, 3, "-0.0"),
            (0.0005, 3, "0.001"),
            (0.0625, 3, "0.062"),
            (2.5, 0, "2.0"),
            (2.675, 2, "2.67"),
            (533333333.3333333, 3, "533333333.333"),
            (1e14, 9, "100000000000000.0"),
            (1e16, 3, "1e+16"),
            (1e300, 3, "1e+300"),
            (5e-324, 9, "0.0"),
            (200.01, 3, "200.01"),
        ] {
            assert_eq!(rounded(value, decimals), text, "{value:e}");
        }
    }

    #[test]
    fn whole_numbers() {
        let mut out = String::new();
        for value in [0, 9, 10, 99, 100, 101, 1005, -1, i64::MAX, i64::MIN] {
            push_int(&mut out, value);
            out.push(' ');
        }
        assert_eq!(out, "0 9 10 99 100 101 1005 -1 9223372036854775807 -9223372036854775808 ");
    }

    proptest! {
        #[test]
        fn whole_numbers_of_every_length(value in any::<i64>(), shift in 0u32..64) {
            let mut out = String::new();
            push_int(&mut out, value >> shift);
            prop_assert_eq!(out, (value >> shift).to_string());
        }

        /// What is printed reads back as the number that the standard library rounds to.
        #[test]
        fn rounds_as_the_standard_library(bits in any::<u64>(), small in -1e7f64..1e7, decimals in 0usize..10) {
            for value in [f64::from_bits(bits), small] {
                if value.is_finite() && value.abs() < 1e200 {
                    let expected: f64 = format!("{value:.decimals$}").parse().expect("a number");
                    let text = rounded(value, decimals);
                    prop_assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(expected.to_bits()), "{}", text);
                    prop_assert_eq!(text, float(expected));
                }
            }
        }

        #[test]
        fn floats_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(float(value).parse::<f64>().map(f64::to_bits), Ok(bits));
            }
        }
    }
}
