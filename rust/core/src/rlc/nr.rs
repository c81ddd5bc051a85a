//! RLC of NR: data and status PDUs of acknowledged mode, sequence numbers of 12 or 18 bits.
//!
//! Reference: 3GPP TS 38.322 sections 6.2.2.4 and 6.2.2.5.

use super::pdu::{Bits, Data, Lengths, Nack, Pdu, SHORT};

/// Decode an acknowledged-mode PDU.
///
/// # Errors
/// What contradicts itself.
pub(crate) fn decode(data: &[u8], sn_bits: u8) -> Result<Pdu<'_>, &'static str> {
    let sn_bits = match sn_bits {
        12 => 12,
        18 => 18,
        _ => return Err("a sequence number that has neither 12 nor 18 bits"),
    };
    if *data.first().ok_or(SHORT)? & 0x80 == 0 { status(data, sn_bits) } else { body(data, sn_bits) }
}

fn body(pdu: &[u8], sn_bits: u32) -> Result<Pdu<'_>, &'static str> {
    let mut bits = Bits::new(pdu);
    bits.skip(1);
    let poll = bits.flag()?;
    // Segmentation: 0 whole, 1 first, 2 last, 3 neither.
    let segment = bits.take(2)?;
    if sn_bits == 18 {
        bits.skip(2);
    }
    let sn = bits.take(sn_bits)?;
    let start = if segment >= 2 { bits.take(16)? } else { 0 };
    let last = segment == 0 || segment == 2;
    Ok(Pdu::Data(Data {
        sn,
        poll,
        start,
        last,
        part: segment != 0,
        begins: segment <= 1,
        ends: last,
        lengths: Lengths::default(),
        data: bits.rest()?,
    }))
}

fn status(pdu: &[u8], sn_bits: u32) -> Result<Pdu<'_>, &'static str> {
    let mut bits = Bits::new(pdu);
    bits.skip(1);
    if bits.take(3)? != 0 {
        return Err("an RLC control PDU of unknown type");
    }
    let ack = bits.take(sn_bits)?;
    let mut more = bits.flag()?;
    bits.skip(if sn_bits == 12 { 7 } else { 1 });
    let mut nacks = Vec::new();
    while more {
        let sn = bits.take(sn_bits)?;
        more = bits.flag()?;
        let (partly, several) = (bits.flag()?, bits.flag()?);
        bits.skip(if sn_bits == 12 { 1 } else { 3 });
        let part = if partly { Some((bits.take(16)?, bits.take(16)?)) } else { None };
        let count = if several { bits.take(8)?.max(1) } else { 1 };
        nacks.push(Nack { sn, count, part });
    }
    Ok(Pdu::Status { ack, nacks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data() {
        let Pdu::Data(found) = decode(&[0xc1, 0x02, 5, 6], 12).unwrap() else { panic!() };
        assert_eq!(
            (found.sn, found.poll, found.start, found.last, found.data.len()),
            (258, true, 0, true, 2)
        );
        let Pdu::Data(found) = decode(&[0xb2, 0x00, 0x01, 0x01, 0x00, 9], 18).unwrap() else { panic!() };
        assert_eq!((found.sn, found.start, found.last, found.begins), (131_073, 256, false, false));
        assert!(decode(&[0xa0, 0, 1], 12).is_err());
    }

    #[test]
    fn reports() {
        assert_eq!(decode(&[0, 7, 0], 12).unwrap(), Pdu::Status { ack: 7, nacks: vec![] });
        // ACK_SN 20; NACK_SN 4 with bytes 1 to 65535, three of them.
        let pdu = [0x00, 0x14, 0x80, 0x00, 0x46, 0, 1, 0xff, 0xff, 3];
        let Pdu::Status { ack, nacks } = decode(&pdu, 12).unwrap() else { panic!() };
        assert_eq!((ack, nacks.len()), (20, 1));
        assert_eq!(nacks[0], Nack { sn: 4, count: 3, part: Some((1, 65535)) });
        assert!(decode(&pdu[..7], 12).is_err());
        // 18 bits: ACK_SN 200000; NACK_SN 199990 with a part, NACK_SN 199995 and three more behind it.
        let bits = format!(
            "0000{:018b}10{:018b}110000{:016b}{:016b}{:018b}001000{:08b}",
            200_000, 199_990, 7, 9, 199_995, 4
        );
        let byte =
            |part: &[u8]| part.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')) << (8 - part.len());
        let pdu: Vec<u8> = bits.as_bytes().chunks(8).map(byte).collect();
        let Pdu::Status { ack, nacks } = decode(&pdu, 18).unwrap() else { panic!() };
        assert_eq!(ack, 200_000);
        assert_eq!(nacks[0], Nack { sn: 199_990, count: 1, part: Some((7, 9)) });
        assert_eq!(nacks[1], Nack { sn: 199_995, count: 4, part: None });
        let Pdu::Status { ack, .. } = decode(&[0, 0, 0x50], 18).unwrap() else { panic!() };
        assert_eq!(ack, 20);
    }
}
