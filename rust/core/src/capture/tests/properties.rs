use proptest::prelude::*;

use super::build::{File, Tcp, ethernet, gzip, ipv4, ipv4_with, ipv6, tcp_v4, tcp_v6};
use super::{read, read_closely, try_read};
use crate::capture::ip_packets_in;

/// Packets of every sort, most of them sound.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let tcp = (any::<u32>(), any::<u16>(), bytes(41), bytes(200))
        .prop_map(|(seq, flags, options, payload)| Tcp { seq, flags: flags & 0x1ff, options, payload });
    prop_oneof![
        4 => tcp.clone().prop_map(|t| ethernet(0x0800, &tcp_v4(&t))),
        4 => tcp.prop_map(|t| ethernet(0x86dd, &tcp_v6(&t))),
        1 => bytes(60).prop_map(|p| ethernet(0x0800, &ipv4(17, &p))),
        1 => (any::<u16>(), bytes(60)).prop_map(|(f, p)| ethernet(0x0800, &ipv4_with(6, &p, 20 + p.len() as u16, f))),
        1 => (0u8..70, bytes(60)).prop_map(|(next, p)| ethernet(0x86dd, &ipv6(next, &p))),
        1 => (any::<u16>(), bytes(60)).prop_map(|(ethertype, p)| ethernet(ethertype, &p)),
        1 => bytes(60),
    ]
}

fn capture() -> impl Strategy<Value = Vec<u8>> {
    let record = (any::<(u32, u32)>(), packet(), 0u32..40);
    (any::<bool>(), prop::collection::vec(record, 0..12)).prop_map(|(big, records)| {
        let mut file = File::with(0xa1b2_c3d4, big, (2, 4), 65535, 1);
        for (time, data, more) in records {
            file = file.record(time, &data, data.len() as u32 + more);
        }
        file.done()
    })
}

proptest! {
    #[test]
    fn any_bytes_behind_a_header(
        link_type in prop::sample::select(vec![0u32, 1, 12, 101, 108, 113, 228, 229, 276, 9]),
        data in prop::collection::vec(any::<u8>(), 0..300),
        version in prop::option::of(prop::sample::select(vec![0x45u8, 0x4f, 0x60])),
    ) {
        let mut data = data;
        if let (Some(version), Some(first)) = (version, data.first_mut()) {
            *first = version;
        }
        // As one packet, and as the rest of the file.
        prop_assert_eq!(read(&File::new(link_type).packet(&data).done()).info.records, 1);
        read(&File::new(link_type).raw(&data).done());
    }

    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = try_read(&data);
        let _ = try_read(&[&[0x1f, 0x8b, 8, 0][..], &data].concat());
    }

    #[test]
    fn damage_never_panics(file in capture(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..10)) {
        let mut file = file;
        for (at, value) in changes {
            let length = file.len();
            file[at % length] = value;
        }
        let _ = try_read(&file);
        let _ = ip_packets_in(&file);
    }

    #[test]
    fn a_truncated_capture_gives_a_prefix(file in capture(), at in any::<prop::sample::Index>()) {
        let whole = read(&file);
        let cut = 24 + at.index(file.len() - 23);
        let part = read(&file[..cut]);
        prop_assert!(whole.segments.starts_with(&part.segments));
        prop_assert!(cut < file.len() || part.segments.len() == whole.segments.len());
        prop_assert_eq!(part.issue("bad-record"), None);
        let zipped = gzip(&file);
        let outcome = try_read(&zipped[..at.index(zipped.len() + 1)]);
        if let Ok(part) = outcome {
            prop_assert!(whole.segments.starts_with(&part.segments));
        }
    }

    /// The short way through the decoder finds what the long one does, of sound packets and of damaged ones.
    #[test]
    fn the_short_way_leads_to_the_same(
        (link_type, before) in prop::sample::select(vec![(1u32, 12usize), (101, 0), (113, 14), (276, 0)]),
        packets in prop::collection::vec((packet(), 0u32..3), 1..8),
        again in 0usize..8,
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
    ) {
        let mut file = File::with(0xa1b2_c3d4, false, (2, 4), 65535, link_type);
        for (number, (packet, more)) in packets.iter().chain(packets.get(again)).enumerate() {
            let from = packet.len().min(if link_type == 101 { 14 } else { 12 });
            let mut data = vec![0; before];
            data.extend(&packet[from..]);
            if link_type == 276 {
                // The EtherType comes first, then 18 bytes of which two say where it was seen.
                data.splice(2.min(data.len())..2.min(data.len()), [0; 18]);
            }
            file = file.record((number as u32, 0), &data, data.len() as u32 + more / 2);
        }
        let mut file = file.done();
        for (at, value) in changes {
            let length = file.len();
            file[24 + at % (length - 24)] = value;
        }
        let outcomes = (try_read(&file), read_closely(&file));
        prop_assert_eq!(format!("{:?}", outcomes.0), format!("{:?}", outcomes.1));
    }

    #[test]
    fn compression_changes_nothing(file in capture()) {
        let (plain, zipped) = (read(&file), read(&gzip(&file)));
        prop_assert_eq!(plain.segments, zipped.segments);
        prop_assert_eq!(plain.info.kinds, zipped.info.kinds);
        prop_assert_eq!(plain.issues, zipped.issues);
    }
}
