//! MAC PDUs: subheaders, and the SDUs that they announce.
//!
//! Reference: 3GPP TS 36.321 section 6.1.2 and tables 6.2.1-1, 6.2.1-2; TS 38.321 section 6.1.2 and the same.

use super::Radio;

/// Hand every SDU of a logical channel (LCID, bytes) to `each`; common control is LCID 0.
///
/// # Errors
/// What contradicts itself; the SDUs before it have been handed on.
pub(crate) fn sdus<'a>(
    radio: Radio,
    uplink: bool,
    data: &'a [u8],
    each: impl FnMut(u8, &'a [u8]),
) -> Result<(), &'static str> {
    if radio == Radio::Lte { lte(uplink, data, each) } else { nr(uplink, data, each) }
}

const PADDING_LTE: u8 = 31;
const CUT: &str = "a MAC PDU that ends inside its subheaders";
const LONG: &str = "a MAC SDU longer than its PDU";

/// Length of a control element whose subheader has none; `None`: the subheader says.
fn fixed_lte(uplink: bool, lcid: u8) -> Option<usize> {
    Some(match (uplink, lcid) {
        (_, PADDING_LTE) => 0,
        (true, 26 | 28 | 29) => 1,
        (true, 27) => 2,
        (true, 30) => 3,
        (false, 25 | 26 | 30) => 0,
        (false, 27 | 29) => 1,
        (false, 24) => 4,
        (false, 28) => 6,
        _ => return None,
    })
}

fn lte<'a>(uplink: bool, data: &'a [u8], mut each: impl FnMut(u8, &'a [u8])) -> Result<(), &'static str> {
    // All subheaders come first; the last one has no length: its element takes what is left.
    let mut parts: Vec<(u8, Option<usize>)> = Vec::new();
    let mut at = 0;
    loop {
        let first = *data.get(at).ok_or(CUT)?;
        at += 1;
        let (more, lcid) = (first & 0x20 != 0, first & 0x1f);
        if let Some(length) = fixed_lte(uplink, lcid) {
            parts.push((lcid, Some(length)));
        } else if more {
            let high = usize::from(*data.get(at).ok_or(CUT)?);
            let long = first & 0x40 != 0;
            let length = if long || high & 0x80 != 0 {
                let low = usize::from(*data.get(at + 1).ok_or(CUT)?);
                at += 1;
                (if long { high } else { high & 0x7f }) << 8 | low
            } else {
                high
            };
            at += 1;
            parts.push((lcid, Some(length)));
        } else {
            parts.push((lcid, None));
        }
        if !more {
            break;
        }
    }
    for (lcid, length) in parts {
        let end = length.map_or(data.len(), |length| at + length);
        let part = data.get(at..end).ok_or(LONG)?;
        at = end;
        if lcid <= 10 && !part.is_empty() {
            each(lcid, part);
        }
    }
    Ok(())
}

const PADDING_NR: u8 = 63;

fn fixed_nr(uplink: bool, lcid: u8) -> Option<usize> {
    Some(match (uplink, lcid) {
        // Common control in 64 and in 48 bits.
        (true, 0) => 8,
        (true, 52) => 6,
        (true, 48) => 4,
        (true, 49 | 59 | 61) => 1,
        (true, 53 | 57 | 58) => 2,
        (true, 55) => 0,
        (false, 59 | 60) => 0,
        (false, 56 | 58 | 61) => 1,
        (false, 47 | 48 | 51 | 52) => 2,
        (false, 49) => 3,
        (false, 57) => 4,
        (false, 62) => 6,
        _ => return None,
    })
}

fn nr<'a>(uplink: bool, data: &'a [u8], mut each: impl FnMut(u8, &'a [u8])) -> Result<(), &'static str> {
    let mut at = 0;
    while at < data.len() {
        let first = data[at];
        let lcid = first & 0x3f;
        at += 1;
        if lcid == PADDING_NR {
            break;
        }
        // Extended LCIDs follow in one or two bytes.
        if lcid == 33 || lcid == 34 {
            at += if lcid == 33 { 2 } else { 1 };
        }
        let length = if let Some(length) = fixed_nr(uplink, lcid) {
            length
        } else if first & 0x40 != 0 {
            let bytes = data.get(at..at + 2).ok_or(CUT)?;
            at += 2;
            usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
        } else {
            at += 1;
            usize::from(*data.get(at - 1).ok_or(CUT)?)
        };
        let part = data.get(at..at + length).ok_or(LONG)?;
        at += length;
        match lcid {
            52 if uplink => each(0, part),
            0..=32 if !part.is_empty() => each(lcid, part),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(radio: Radio, uplink: bool, data: &[u8]) -> Vec<(u8, usize)> {
        let mut all = Vec::new();
        sdus(radio, uplink, data, |lcid, sdu| all.push((lcid, sdu.len()))).unwrap();
        all
    }

    #[test]
    fn subheaders_of_lte() {
        // Power headroom, LCID 1 of 4 bytes, LCID 3 takes the rest.
        let data = [0x3a, 0x21, 0x04, 0x03, 9, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(found(Radio::Lte, true, &data), [(1, 4), (3, 3)]);
        // One byte of padding in front; 15 bits of length.
        let data: Vec<u8> = [&[0x3f, 0x23, 0x80, 0xc8, 0x1f][..], &[7; 200]].concat();
        assert_eq!(found(Radio::Lte, false, &data), [(3, 200)]);
        assert!(sdus(Radio::Lte, true, &[0x21, 9, 0x1f, 1], |_, _| ()).is_err());
        assert!(sdus(Radio::Lte, true, &[0x21], |_, _| ()).is_err());
    }

    #[test]
    fn subpdus_of_nr() {
        let data = [0x34, 1, 2, 3, 4, 5, 6, 0x3d, 0, 0x01, 2, 8, 9, 0x44, 0, 1, 7, 0x3f, 0, 0];
        assert_eq!(found(Radio::Nr, true, &data), [(0, 6), (1, 2), (4, 1)]);
        assert!(sdus(Radio::Nr, false, &[0x41, 0], |_, _| ()).is_err());
        assert!(sdus(Radio::Nr, false, &[0x01, 3, 0], |_, _| ()).is_err());
    }
}
