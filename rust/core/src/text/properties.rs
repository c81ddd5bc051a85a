//! Whatever the bytes: no panic, columns of equal length, places that exist, the same result twice.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;

use super::found::{Column, Columns, Found, Value};
use super::{SCANNERS, csv, iperf3, ndt7, ns3, omnetpp, srsran};

/// Pieces of real lines, so that random text reaches past the first check.
const LOGS: &[&str] = &[
    "\n",
    " ",
    "\t",
    "1795248023.5",
    "1795248023",
    "2026-11-21T08:00:22,5+00:00",
    "ms",
    "iwf",
    "snd",
    "rcv",
    "evt",
    "I",
    "RR",
    "reset",
    "ns=1",
    "off=24",
    "len=24",
    "cause=n2",
    "try=9",
    "# rlpdump 1 clock=realtime",
    "ESTAB 0 5 10.0.0.1:1 [::1]:2",
    "LISTEN",
    "cwnd:10",
    "rtt:1.5/2",
    "timer:(on,1min2.5ms,0)",
    "busy:5ms(1%)",
    " a-1 [000] ..... 240.5: tcp_probe:",
    " a-1 [001] ..... 240.5: net_dev_queue: dev=eth0 skbaddr=00000000000000aa len=66",
    " a-1 [001] ..... 240.5: qdisc_dequeue: dequeue ifindex=2 handle=0x10000 packets=-1 skbaddr=",
    " a-1 [001] ..... 240.5: kfree_skb: skbaddr=0xffffffffffffffff rx_sk=(null) reason: QDISC_DROP",
    " a-1 [001] ..... 240.5: sock_send_length: sk address = 00000000000000bb, protocol = IPPROTO_TCP, ",
    "length = -9223372036854775808, error = -11, flags = 0x40",
    "skaddr=00000000000000bb",
    "err=-16",
    "src=10.0.0.1:1",
    "dest=[::ffff:1.2.3.4]:5",
    "snd_nxt=0xffffffff",
    "inet_sock_set_state:",
    "oldstate=TCP_CLOSE",
    "newstate=0x1",
    "CPU:1 [LOST 5 EVENTS]",
    "ssthresh=2147483647",
    "# entries-in-buffer/entries-written: 1/99999999999999999999",
    "99999999999999999999",
    "0.5 10.0.0.1:1 10.0.0.2:2 32 0x1 0x2 3 4 5 6",
    "siftrver=1.2.2\thz=1000",
    "o,0xbec491a5,1.463551,10.0.0.1,22,10.0.0.2,1,1073725440,1,1,1,1,8,1,4,1448,9,1,9,2,3,2,6,0,",
    "enable_time_secs=1",
    "disable_time_secs=1\tnum_inbound_skipped_pkts_malloc=18446744073709551615",
    "TIME,SKADDR,C-PID,LADDR,LPORT,RADDR,RPORT,OLDSTATE,->,NEWSTATE\n",
    "23:59:59,1,2,10.0.0.1,1,10.0.0.2,2,CLOSE,->,LISTEN",
    "00:00:01 0 4 10.0.0.1:22 R> 10.0.0.2:9 CLOSE",
    "0 1 1 1 1 3 5 6 7 8",
    "{\"event\":\"start\",\"data\":{\"timestamp\":{\"timesecs\":9},\"connected\":[{\"socket\":5,",
    "\"local_host\":\"10.0.0.1\",\"local_port\":4,\"remote_host\":\"::1\",\"remote_port\":5}]}}",
    "{\"event\":\"interval\",\"data\":{\"streams\":[{\"socket\":5,\"start\":0,\"end\":1.5,",
    "\"bytes\":1000,\"retransmits\":1,\"snd_cwnd\":14480,\"rtt\":1}]}}",
    "{\"start\":{",
    "{\"GitShortCommit\":\"0\",\"Download\":{\"StartTime\":\"2026-11-21T08:00:00Z\",",
    "\"ServerMeasurements\":[{\"ConnectionInfo\":{\"Client\":\"10.0.0.2:5\",\"Server\":\"10.0.0.1:4\"},",
    "\"TCPInfo\":{\"SndCwnd\":9,\"ElapsedTime\":5}},{}]}}",
    "\"intervals\":[{\"streams\":[{\"socket\":5,\"start\":0,\"end\":1,\"sender\":false}]},",
    "2023-03-15T18:29:25.100001 [RLC     ] [I] ue=0 DRB1 UL: ",
    "RX PDU. dc=data p=1 si=last sn=9 so=4 pdu_len=9",
    "RX status PDU. ack_sn=1 nack=[4095][0 50:89]",
    "TX status PDU. ",
    "Refreshed status_report. ack_sn=1",
    "{\"Timestamp\":\"2019-05-16T00:21:16.834Z\",\"RawIDM\":",
    "\"AgEAAMCoFFFPCqgABAAAAAAAAAAAAAAACk0AAgAAAAAAAAAAAAAAAA==\",",
    "\"Attributes\":[null,null,\"AAAAAAAAAAA=\"]}",
    "1e300",
    "NaN",
    "\"",
    ",",
    "-1",
    ":",
    "=",
    "[",
    "/",
];

/// The same of what simulators write.
const SIMULATORS: &[&str] = &[
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

/// Of each scanner: words of its lines, and whole ones.
static WORDS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let of = |line: fn(u32) -> String| {
        let text = format!("{}\n{}\n", line(0), line(7));
        let words = text.split_inclusive([' ', '\t', ',', '=', ':', '\n']).map(str::to_owned);
        words.chain(text.split_inclusive('\n').map(str::to_owned)).collect()
    };
    SCANNERS.iter().map(|scanner| of(scanner.line)).collect()
});

fn text(pieces: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..12);
    proptest::collection::vec(prop_oneof![4 => pieces, 1 => noise], 0..120).prop_map(|pieces| pieces.concat())
}

fn known(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    text(select(pieces).prop_map(|piece| piece.as_bytes().to_vec()))
}

fn any_log() -> impl Strategy<Value = Vec<u8>> {
    let of_one =
        (0..SCANNERS.len()).prop_flat_map(|at| text(select(WORDS[at].clone()).prop_map(String::into_bytes)));
    prop_oneof![2 => known(LOGS), 2 => known(SIMULATORS), 3 => of_one]
}

/// Columns that index a list among the facts.
const PLACES: [(&str, &str); 6] = [
    ("flow", "flows"),
    ("entity", "entities"),
    ("vector", "vectors"),
    ("place", "places"),
    ("name", "names"),
    ("reason", "reasons"),
];

/// Equal lengths, and places that exist.
fn check_table(columns: &Columns, facts: &[(&'static str, Value)]) -> Result<(), TestCaseError> {
    for (name, column) in columns {
        prop_assert_eq!(column.len(), columns[0].1.len(), "{}", name);
        let Some((_, list)) = PLACES.iter().find(|(place, _)| place == name) else { continue };
        let Some((_, Value::List(list))) = facts.iter().find(|(fact, _)| fact == list) else { continue };
        let (least, most) = match column {
            Column::I16(places) => {
                (places.iter().min().map(|at| i64::from(*at)), places.iter().max().map(|at| i64::from(*at)))
            }
            Column::I32(places) => {
                (places.iter().min().map(|at| i64::from(*at)), places.iter().max().map(|at| i64::from(*at)))
            }
            _ => (None, None),
        };
        prop_assert!(
            least.is_none_or(|at| at >= -1) && most.is_none_or(|at| at < list.len() as i64),
            "{}",
            name
        );
    }
    Ok(())
}

fn check(found: &Found) -> Result<(), TestCaseError> {
    for (_, columns) in &found.tables {
        check_table(columns, &found.facts)?;
    }
    Ok(())
}

#[test]
fn lines_of_the_table_are_read_whole() {
    for scanner in SCANNERS {
        let log: String = (0..200).map(|n| (scanner.line)(n) + "\n").collect();
        let found = (scanner.scan)(&mut log.as_bytes()).expect("memory");
        // A connection that began before the log is no damage.
        let whole = found.issues.iter().all(|(code, _)| code == "missing-handshake");
        assert!(whole, "{}: {:?}", scanner.name, found.issues);
        assert!(found.facts.iter().any(|(_, value)| *value != Value::None), "{}", scanner.name);
        let rows: usize = found.tables.iter().map(|(_, columns)| columns[0].1.len()).sum();
        assert!(
            rows >= 100 || found.tables.is_empty() || matches!(scanner.name, "ns2" | "ns3"),
            "{}: {rows}",
            scanner.name
        );
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = SCANNERS.iter().map(|scanner| scanner.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SCANNERS.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn arbitrary_bytes_never_panic(text in any_log()) {
        for scanner in SCANNERS {
            let found = (scanner.scan)(&mut &text[..]).unwrap();
            check(&found)?;
            let again = (scanner.scan)(&mut &text[..]).unwrap();
            // NaN is a value of these; it equals nothing.
            prop_assert!(found == again || format!("{found:?}") == format!("{again:?}"), "{}", scanner.name);
        }
        check(&iperf3::read(&text).into())?;
        let trace = ns3::scan(&text[..]).unwrap();
        prop_assert_eq!(trace.places.len(), trace.dropped_at.len());
        for seen in &trace.seen {
            prop_assert_eq!(seen.columns.t_ns.len(), seen.columns.length.len());
            prop_assert!(seen.columns.conn.iter().all(|at| (*at as usize) < seen.connections.len()));
        }
        prop_assert!(ns3::series::scan(&text[..]).unwrap().value.iter().all(|value| value.is_finite()));
        let results = omnetpp::scan(&text[..]).unwrap();
        prop_assert_eq!(results.scalars.name.len(), results.scalars.value.len());
        prop_assert!(!results.is_index || results.blocks.len() == results.vectors.len());
        for bearer in &srsran::scan(&text[..]).unwrap().bearers {
            prop_assert!(bearer.columns.iter().all(|column| column.len() == bearer.columns[0].len()));
            prop_assert!(!bearer.columns[0].is_empty() && bearer.bytes >= 0);
        }
        let kinds = [csv::Kind::Time(3), csv::Kind::Word, csv::Kind::Number, csv::Kind::Skip];
        let values = csv::scan(&text[..], 0, b' ', &kinds).unwrap();
        for column in &values.columns {
            if let csv::Values::Words(places, words) = column {
                prop_assert!(places.iter().all(|at| (*at as usize) < words.len()));
            }
        }
        check(&values.into())?;
        let result = ndt7::read(&text);
        prop_assert!(result.columns.iter().all(|column| column.len() == result.elapsed_ns.len()));
        prop_assert!(result.socket.iter().all(|at| (*at as usize) < result.sockets.len()));
    }
}
