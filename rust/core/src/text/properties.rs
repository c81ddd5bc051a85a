//! Whatever the bytes: no panic, columns of equal length, the same result twice.

use proptest::prelude::*;

use super::{bcc, csv, ftrace, iperf3, lena, ndt7, rlpdump, siftr, srsran, ss, tcpinfo, tcpprobe};

/// Pieces of real lines, so that random text reaches past the first check.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::sample::select(vec![
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
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(pieces in proptest::collection::vec(piece(), 0..120)) {
        let text = pieces.concat();
        let link = rlpdump::scan(&text[..]).unwrap();
        prop_assert_eq!(link.frames.t_ns.len(), link.frames.poll.len());
        prop_assert_eq!(link.events.t_ns.len(), link.events.length.len());
        prop_assert!(link.events.entity.iter().all(|at| (*at as usize) < link.entities.len()));
        let kernel = ftrace::scan(&text[..]).unwrap();
        prop_assert_eq!(kernel.probes.t_ns.len(), kernel.probes.srtt_ns.len());
        prop_assert!(kernel.probes.flow.iter().all(|at| (*at as usize) < kernel.flows.flows().len()));
        let host = &kernel.host.events;
        prop_assert_eq!(host.t_ns.len(), host.name.len());
        prop_assert_eq!(host.flow.len(), host.skb.len());
        prop_assert!(host.flow.iter().all(|at| *at < kernel.flows.flows().len() as i32));
        let sockets = ss::scan(&text[..]).unwrap();
        prop_assert_eq!(sockets.samples.t_ns.len(), sockets.samples.timer_ns.len());
        prop_assert_eq!(sockets.samples, ss::scan(&text[..]).unwrap().samples);
        let probes = tcpprobe::scan(&text[..], None).unwrap();
        prop_assert_eq!(probes.rows.t_ns.len(), probes.rows.unacked.len());
        prop_assert!(probes.rows.flow.iter().all(|at| (*at as usize) < probes.flows.flows().len()));
        let packets = siftr::scan(&text[..]).unwrap();
        prop_assert_eq!(packets.rows.t_ns.len(), packets.rows.notsent.len());
        let traced = bcc::scan(&text[..]).unwrap();
        prop_assert_eq!(traced.events.t_ns.len(), traced.events.old_value.len());
        prop_assert!(traced.events.flow.iter().all(|at| (*at as usize) < traced.flows.flows().len()));
        let snapshots = tcpinfo::scan(&text[..]).unwrap();
        prop_assert!(snapshots.columns.iter().all(|column| column.len() == snapshots.t_ns.len()));
        for test in [iperf3::scan(&text[..]).unwrap(), iperf3::read(&text)] {
            prop_assert!(test.columns.iter().all(|column| column.len() == test.t_ns.len()));
            prop_assert!(test.flow.iter().all(|at| (*at as usize) < test.sockets.len()));
        }
        let result = ndt7::read(&text);
        prop_assert!(result.columns.iter().all(|column| column.len() == result.elapsed_ns.len()));
        prop_assert!(result.socket.iter().all(|at| (*at as usize) < result.sockets.len()));
        for bearer in &srsran::scan(&text[..]).unwrap().bearers {
            prop_assert!(bearer.columns.iter().all(|column| column.len() == bearer.columns[0].len()));
            prop_assert!(!bearer.columns[0].is_empty() && bearer.bytes >= 0);
        }
        let columns = [lena::Column { unit: 1e9, limit: Some(9.2e18) }; lena::COLUMNS];
        let totals = lena::scan(&text[..], &columns).unwrap();
        prop_assert!(totals.columns.iter().all(|column| column.len() == totals.record.len()));
        for separator in [b',', b' '] {
            let kinds = [csv::Kind::Time(3), csv::Kind::Word, csv::Kind::Number, csv::Kind::Skip];
            let values = csv::scan(&text[..], 0, separator, &kinds).unwrap();
            for column in &values.columns {
                let length = match column {
                    csv::Values::Numbers(numbers) => numbers.len(),
                    csv::Values::Words(places, words) => {
                        prop_assert!(places.iter().all(|at| (*at as usize) < words.len()));
                        places.len()
                    }
                };
                prop_assert_eq!(length, values.t_ns.len());
            }
        }
    }
}
