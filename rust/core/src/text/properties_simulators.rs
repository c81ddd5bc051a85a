//! The same for what simulators write: no panic, columns of equal length, places that exist.

use proptest::prelude::*;

use super::{ns2, ns3, omnetpp};

const PIECES: &[&str] = &[
    "\n",
    " ",
    "\t",
    "- 1.5 /NodeList/0/DeviceList/1/$ns3::PointToPointNetDevice/TxQueue/Dequeue ",
    "r 0.0460392 /NodeList/1/DeviceList/0/$ns3::PointToPointNetDevice/MacRx ",
    "d 2e-05 /NodeList/1/DeviceList/0/TxQueue/Drop ",
    "t 3 /NodeList/0/$ns3::Ipv4L3Protocol/Tx(1) ",
    "ns3::WifiMacHeader (DATA Retry=1) ",
    "ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 7 protocol 6 offset (bytes) 0 flags [none] length: 60 \
     10.1.1.1 > 10.1.1.2) ",
    "ns3::Ipv6Header ((Version 6 Traffic class 0x0 DSCP Default Flow Label 0x1 Payload Length 136 Next Header 6 Hop Limit \
     64 )2001:db8::1 > 2001:db8::2) ",
    "ns3::TcpHeader (49153 > 9 [SYN] Seq=0 Ack=0 Win=65535 ns3::TcpOptionMSS(536) ns3::TcpOptionSack(blocks: 1,[1,2]))",
    "ns3::TcpHeader (9 > 49153 [ACK] Seq=4294967295 Ack=1 Win=65535)",
    "+ 0.5 0 1 tcp 1040 ------- 1 0.0 3.0 1 500",
    "r 0.6 0 1 ack 40 ------- 1 3.0 0.0 4294967295 501",
    "s 1.01 _2_ AGT  --- 3 tcp 1040 [0 0 0 0] ------- [2:0 0:0 32 0] [1 0] 0 0",
    "D 1.2 _3_ MAC  RET 3 tcp 1520 [13a 1 0 800] [energy 9.5 ei 0.0 es 0.0 et 0.0 er 0.3] ------- [2:0 0:0 32 0] [1 0] 1 0",
    "s -t 1.0 -Hs 0 -Hd -2 -Ni 0 -Ne -1.0 -Nl MAC -Nw --- -Ma 13a -Md 1 -Ms 0 -Mt 0 ",
    "N -t 0.000102 -n 4 -e 100.000000",
    "version 2",
    "run General-0",
    "file 174334 1490489145",
    "vector 17 Net.host cwnd:vector ETV",
    "vector 18 \"a b\" \"c\" TV",
    "17\t5\t0.5\t3",
    "18\t0.5\tnan",
    "17\t8358 397 29 2532 12.3 73.9 15 28 60 668 31856",
    "scalar Net.host drops 3",
    "statistic Net.host delay",
    "field mean 1e300",
    "1.5",
    "-1",
    "99999999999999999999",
    "+8e+09ns",
    "\"",
    "(",
    "[",
    "]",
    "=",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(pieces in proptest::collection::vec(piece(), 0..120)) {
        let text = pieces.concat();
        let log = ns3::scan(&text[..]).unwrap();
        prop_assert_eq!(log.drops.t_ns.len(), log.drops.length.len());
        prop_assert!(log.drops.place.iter().all(|at| (*at as usize) < log.places.len()));
        prop_assert_eq!(log.places.len(), log.dropped_at.len());
        for seen in &log.seen {
            prop_assert_eq!(seen.columns.t_ns.len(), seen.columns.length.len());
            prop_assert!(seen.columns.conn.iter().all(|at| (*at as usize) < seen.connections.len()));
        }
        let series = ns3::series::scan(&text[..]).unwrap();
        prop_assert_eq!(series.t_ns.len(), series.value.len());
        prop_assert!(series.value.iter().all(|value| value.is_finite()));
        let log = ns2::scan(&text[..], true, ns2::HEADER_BYTES).unwrap();
        prop_assert_eq!(log.frames.t_ns.len(), log.frames.attempt.len());
        prop_assert!(log.events.entity.iter().all(|at| (*at as usize) < log.entities.len()));
        let agents = ns2::variables::scan(&text[..]).unwrap();
        prop_assert_eq!(agents.rows.t_ns.len(), agents.rows.value.len());
        let log = omnetpp::scan(&text[..]).unwrap();
        prop_assert_eq!(log.values.t_ns.len(), log.values.value.len());
        prop_assert!(log.values.vector.iter().all(|at| (*at as usize) < log.vectors.len()));
        prop_assert_eq!(log.scalars.name.len(), log.scalars.value.len());
        prop_assert!(!log.is_index || log.blocks.len() == log.vectors.len());
    }
}
