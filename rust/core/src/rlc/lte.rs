//! RLC of LTE: data and status PDUs of acknowledged mode, sequence numbers of 10 or 16 bits.
//!
//! Reference: 3GPP TS 36.322 sections 6.2.1.4 to 6.2.1.6.

use super::pdu::{Bits, Data, Lengths, Nack, Pdu, SHORT};

/// Decode an acknowledged-mode PDU.
///
/// # Errors
/// What contradicts itself.
pub(crate) fn decode(data: &[u8], sn_bits: u8, long_li: bool) -> Result<Pdu<'_>, &'static str> {
    let sn_bits = match sn_bits {
        16 => 16,
        10 | 0 => 10,
        _ => return Err("a sequence number that has neither 10 nor 16 bits"),
    };
    if *data.first().ok_or(SHORT)? & 0x80 == 0 { status(data, sn_bits) } else { body(data, sn_bits, long_li) }
}

fn body(pdu: &[u8], sn_bits: u32, long_li: bool) -> Result<Pdu<'_>, &'static str> {
    let mut bits = Bits::new(pdu);
    bits.skip(1);
    let resegmented = bits.flag()?;
    let poll = bits.flag()?;
    let (begins, ends) = (!bits.flag()?, !bits.flag()?);
    let more = bits.flag()?;
    let mut last = true;
    if sn_bits == 16 {
        last = bits.flag()? || !resegmented;
        bits.skip(1);
    }
    let sn = bits.take(sn_bits)?;
    let mut start = 0;
    if resegmented {
        if sn_bits == 16 {
            start = bits.take(16)?;
        } else {
            last = bits.flag()?;
            start = bits.take(15)?;
        }
    }
    let (lengths, data) = Lengths::read(&mut bits, more, if long_li { 15 } else { 11 })?;
    Ok(Pdu::Data(Data { sn, poll, start, last, part: resegmented, begins, ends, lengths, data }))
}

fn status(pdu: &[u8], sn_bits: u32) -> Result<Pdu<'_>, &'static str> {
    let mut bits = Bits::new(pdu);
    bits.skip(1);
    if bits.take(3)? != 0 {
        return Err("an RLC control PDU of unknown type");
    }
    let ack = bits.take(sn_bits)?;
    let mut more = bits.flag()?;
    let mut nacks = Vec::new();
    while more {
        let sn = bits.take(sn_bits)?;
        more = bits.flag()?;
        let width = if sn_bits == 16 { 16 } else { 15 };
        let part = if bits.flag()? { Some((bits.take(width)?, bits.take(width)?)) } else { None };
        nacks.push(Nack { sn, count: 1, part });
    }
    Ok(Pdu::Status { ack, nacks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_with_lengths() {
        // P, FI 01 (ends inside an SDU), SN 515; lengths 2 and 3.
        let pdu = [0xae, 0x03, 0x80, 0x20, 0x03, 1, 2, 3, 4, 5, 6, 7];
        let Pdu::Data(found) = decode(&pdu, 10, false).unwrap() else { panic!() };
        assert_eq!((found.sn, found.poll, found.begins, found.ends), (515, true, true, false));
        assert_eq!((found.lengths.count, found.lengths.get(0), found.lengths.get(1)), (2, 2, 3));
        assert_eq!(found.data, [1, 2, 3, 4, 5, 6, 7]);
        assert!(decode(&pdu[..4], 10, false).is_err());
        assert!(decode(&[0x80 | 4, 1, 0x00, 0x90, 1], 10, false).is_err());
    }

    /// Bits, filled up with zeros.
    fn bytes_of(bits: &str) -> Vec<u8> {
        let byte =
            |part: &[u8]| part.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')) << (8 - part.len());
        bits.as_bytes().chunks(8).map(byte).collect()
    }

    /// Numbers of 16 bits: R1, LSF beside the flags, SO of 16 bits; lengths of 15 bits (TS 36.322 figures 6.2.1.4-5 ff).
    #[test]
    fn long_numbers() {
        let pdu =
            [bytes_of(concat!("10100100", "1000000000000001", "0", "000000000000011")), vec![1, 2, 3, 4, 5]]
                .concat();
        let Pdu::Data(found) = decode(&pdu, 16, true).unwrap() else { panic!() };
        assert_eq!((found.sn, found.poll, found.part, found.begins), (0x8001, true, false, true));
        assert_eq!((found.lengths.count, found.lengths.get(0), found.data.len()), (1, 3, 5));
        let segment = bytes_of(concat!("11001000", "1111111111111110", "1111111111111111", "00000111"));
        let Pdu::Data(found) = decode(&segment, 16, false).unwrap() else { panic!() };
        assert_eq!((found.sn, found.start, found.last, found.part), (65_534, 65_535, false, true));
        // ACK_SN 40000, NACK_SN 39990 from byte 10 to 65535, NACK_SN 39995 whole.
        let report =
            format!("0000{:016b}1{:016b}11{:016b}{:016b}{:016b}00", 40_000, 39_990, 10, 65_535, 39_995);
        let Pdu::Status { ack, nacks } = decode(&bytes_of(&report), 16, false).unwrap() else { panic!() };
        assert_eq!((ack, nacks.len()), (40_000, 2));
        assert_eq!(nacks[0], Nack { sn: 39_990, count: 1, part: Some((10, 65_535)) });
        assert_eq!(nacks[1], Nack { sn: 39_995, count: 1, part: None });
    }

    #[test]
    fn a_segment_of_a_pdu() {
        let Pdu::Data(found) = decode(&[0xc0, 7, 0x80, 100, 1, 2], 10, false).unwrap() else { panic!() };
        assert_eq!((found.sn, found.start, found.last), (7, 100, true));
        let Pdu::Data(found) = decode(&[0xc2, 1, 0, 0, 50, 1, 2], 16, false).unwrap() else { panic!() };
        assert_eq!((found.sn, found.start, found.last, found.data.len()), (256, 50, true, 2));
    }

    #[test]
    fn reports() {
        let ack =
            |pdu: &[u8], bits| decode(pdu, bits, false).unwrap() == Pdu::Status { ack: 3, nacks: vec![] };
        assert!(ack(&[0x00, 0x0c], 10));
        assert!(ack(&[0x00, 0x00, 0x30], 16));
        // ACK_SN 5, NACK_SN 2 whole, NACK_SN 3 bytes 1 to 2.
        let text = concat!("0000", "0000000101", "1", "0000000010", "10", "0000000011", "01");
        let bytes = bytes_of(&format!("{text}{:015b}{:015b}", 1, 2));
        let Pdu::Status { ack, nacks } = decode(&bytes, 10, false).unwrap() else { panic!() };
        assert_eq!((ack, nacks.len(), nacks[0].sn, nacks[1].part), (5, 2, 2, Some((1, 2))));
        assert!(decode(&bytes[..4], 10, false).is_err());
        assert!(decode(&[0x10, 0], 10, false).is_err());
    }
}
