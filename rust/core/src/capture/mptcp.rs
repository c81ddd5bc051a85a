//! The Multipath TCP option.
//!
//! Reference: RFC 8684 section 3 (version 1); RFC 6824 section 3 (version 0).

use super::record::{be16, be32};
use crate::segment::Mptcp;

const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DSS: u8 = 2;
const ADD_ADDRESS: u8 = 3;
const REMOVE_ADDRESS: u8 = 4;
const PRIORITY: u8 = 5;

/// Take up an option, given what follows its kind and length; what is too short for its subtype only counts.
pub(super) fn parse(value: &[u8], found: &mut Mptcp) {
    let [first, rest @ ..] = value else { return };
    let subtype = first >> 4;
    found.subtypes |= 1 << subtype;
    match subtype {
        CAPABLE => capable(first & 0xf, rest, found),
        JOIN => {
            if let ([address_id, rest @ ..], true) = (rest, value.len() == 10) {
                found.set(Mptcp::TOKEN);
                found.token = be32(rest, 0);
                found.address_id = *address_id;
            }
            if first & 1 != 0 && value.len() != 22 {
                found.set(Mptcp::BACKUP); // the last ACK of the handshake has no such flag
            }
        }
        // Keys and a mapping share their place: MP_CAPABLE has its own mapping.
        DSS if found.has & (Mptcp::SENDER_KEY | Mptcp::RECEIVER_KEY) == 0 => dss(rest, found),
        ADD_ADDRESS | REMOVE_ADDRESS => found.address_id = rest.first().copied().unwrap_or_default(),
        PRIORITY if first & 1 != 0 => found.set(Mptcp::BACKUP),
        _ => {}
    }
}

fn capable(version: u8, rest: &[u8], found: &mut Mptcp) {
    found.version = version;
    found.has &= !(Mptcp::MAPPING | Mptcp::DATA_ACK | Mptcp::DATA_SEQ_64 | Mptcp::DATA_FIN);
    let Some((_flags, rest)) = rest.split_first() else { return };
    let Some((key, rest)) = rest.split_first_chunk::<8>() else { return };
    found.set(Mptcp::SENDER_KEY);
    found.a = u64::from_be_bytes(*key);
    let Some((key, rest)) = rest.split_first_chunk::<8>() else { return };
    found.set(Mptcp::RECEIVER_KEY);
    found.b = u64::from_be_bytes(*key);
    if rest.len() >= 2 {
        found.data_length = be16(rest, 0);
    }
}

fn dss(rest: &[u8], found: &mut Mptcp) {
    let Some((&flags, rest)) = rest.split_first() else { return };
    let mut rest = rest;
    let mut number = |wide: bool| -> Option<u64> {
        let (value, behind) = match wide {
            true => rest.split_first_chunk::<8>().map(|(v, r)| (u64::from_be_bytes(*v), r))?,
            false => rest.split_first_chunk::<4>().map(|(v, r)| (u64::from(u32::from_be_bytes(*v)), r))?,
        };
        rest = behind;
        Some(value)
    };
    if flags & 1 != 0 {
        let Some(ack) = number(flags & 2 != 0) else { return };
        found.set(Mptcp::DATA_ACK);
        found.b = ack;
    }
    if flags & 4 != 0 {
        let (Some(seq), Some(subflow_seq)) = (number(flags & 8 != 0), number(false)) else { return };
        if rest.len() < 2 {
            return;
        }
        found.set(Mptcp::MAPPING);
        if flags & 8 != 0 {
            found.set(Mptcp::DATA_SEQ_64);
        }
        found.a = seq;
        found.token = subflow_seq as u32; // read as 32 bits
        found.data_length = be16(rest, 0);
    }
    if flags & 0x10 != 0 {
        found.set(Mptcp::DATA_FIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(value: &[u8]) -> Mptcp {
        let mut found = Mptcp::default();
        parse(value, &mut found);
        found
    }

    #[test]
    fn capable_of_both_versions() {
        let syn = read(&[0x01, 0x81]);
        assert_eq!((syn.subtypes, syn.version, syn.has), (1, 1, 0));
        let key = [1, 2, 3, 4, 5, 6, 7, 8];
        let answer = read(&[&[0x01, 0x81][..], &key].concat());
        assert_eq!((answer.has, answer.a), (Mptcp::SENDER_KEY, 0x0102_0304_0506_0708));
        let data = read(&[&[0x00, 0x81][..], &key, &[9; 8], &[0x05, 0xb4]].concat());
        assert_eq!(data.has, Mptcp::SENDER_KEY | Mptcp::RECEIVER_KEY);
        assert_eq!((data.version, data.b, data.data_length), (0, 0x0909_0909_0909_0909, 1460));
    }

    #[test]
    fn join_has_a_token_in_the_syn_only() {
        let syn = read(&[0x11, 7, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4]);
        assert_eq!((syn.token, syn.address_id), (0xdead_beef, 7));
        assert_eq!(syn.has, Mptcp::TOKEN | Mptcp::BACKUP);
        assert_eq!(read(&[&[0x10, 7][..], &[1; 12]].concat()).has, 0);
        assert_eq!(read(&[&[0x11, 7][..], &[1; 20]].concat()).has, 0);
    }

    #[test]
    fn mappings_of_both_widths() {
        let narrow = read(&[0x20, 0x05, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 0, 100]);
        assert_eq!(narrow.has, Mptcp::DATA_ACK | Mptcp::MAPPING);
        assert_eq!((narrow.b, narrow.a, narrow.token, narrow.data_length), (9, 8, 1, 100));
        let wide = read(&[0x20, 0x1c, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 0xff, 0xff]);
        assert_eq!(wide.has, Mptcp::MAPPING | Mptcp::DATA_SEQ_64 | Mptcp::DATA_FIN);
        assert_eq!((wide.a, wide.token, wide.data_length), (0x1_0000_0002, 3, 1));
        // Cut: what is not there is not made up.
        assert_eq!(read(&[0x20, 0x04, 0, 0, 0, 8, 0, 0, 0, 1]).has, 0);
    }

    proptest! {
        #[test]
        fn any_bytes(value in proptest::collection::vec(any::<u8>(), 0..40), more in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut found = read(&value);
            parse(&more, &mut found);
            prop_assert_eq!(found.subtypes == 0, value.is_empty() && more.is_empty());
        }
    }
}
