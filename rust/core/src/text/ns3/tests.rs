use super::*;

const HEAD: &str = "/NodeList/0/DeviceList/0/$ns3::PointToPointNetDevice/TxQueue/Dequeue ns3::PppHeader \
                    (Point-to-Point Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0x3 DSCP Default ECN CE ttl 64 id 7 \
                    protocol 6 offset (bytes) 0 flags [none] length: ";

fn line(operation: char, t: &str, length: u32, tcp: &str) -> String {
    format!("{operation} {t} {HEAD}{length} 10.1.1.1 > 10.1.1.2) ns3::TcpHeader ({tcp})\n")
}

fn one(text: &str) -> Ns3Log {
    scan(text.as_bytes()).unwrap()
}

fn codes(log: &Ns3Log) -> Vec<&'static str> {
    log.issues.iter().map(|(code, _)| code).collect()
}

#[test]
fn a_segment_and_its_options() {
    let tcp = "49153 > 9 [SYN|ACK] Seq=5 Ack=1 Win=65535 ns3::TcpOptionMSS(536) ns3::TcpOptionWinScale(2) \
               ns3::TcpOptionSackPermitted([sack_perm]) ns3::TcpOptionTS(923;912) ns3::TcpOptionEnd(EOL)";
    let log = one(&line('-', "0.0460392", 60, tcp));
    assert_eq!(codes(&log), ["missing-handshake"]); // it begins with the answer
    let seen = &log.seen[0];
    assert_eq!((seen.host, seen.addresses.len()), (Some(0), 1));
    assert_eq!(seen.columns.t_ns, [46_039_200]);
    assert_eq!((seen.columns.seq_raw[0], seen.columns.ts_val[0], seen.columns.ip_id[0]), (5, 923, 7));
    // 60 - 20 of IP - 20 of TCP - 20 of options
    assert_eq!((seen.columns.length[0], seen.columns.ip_length[0], seen.columns.flags[0]), (0, 60, 0x12));
    assert_eq!((log.span, log.digits, log.resolution_ns), (Some((46_039_200, 46_039_200)), 6, 100));
}

#[test]
fn selective_acknowledgments_and_older_flags() {
    let tcp = "9 > 49153 [ ACK ] Seq=1 Ack=11793 Win=32768 ns3::TcpOptionTS(5670;5249) \
               ns3::TcpOptionSack(blocks: 2,[12329,12865][13401,13937])";
    let log = one(&line('r', "5.67009", 68, tcp));
    let columns = &log.seen[0].columns;
    assert_eq!((columns.length[0], columns.sack_count[0], columns.flags[0]), (0, 2, 0x10));
}

#[test]
fn sack_options_beyond_what_a_header_holds() {
    let option = "ns3::TcpOptionSack(blocks: 3,[1,2][3,4][5,6]) ";
    let tcp = format!("9 > 49153 [ACK] Seq=1 Ack=1 Win=9 {}", option.repeat(3));
    let log = one(&line('r', "5.5", 132, &tcp));
    assert_eq!((log.seen[0].columns.length[0], log.seen[0].columns.sack_count[0]), (132 - 40 - 40, 4));
}

#[test]
fn devices_drops_and_what_is_no_tcp() {
    let good = "1 > 2 [ACK] Seq=1 Ack=1 Win=9";
    let data = line('+', "1", 140, good);
    let dropped = line('d', "1.5", 140, good).replace("Dequeue", "Drop");
    let arp = "d 2 /NodeList/3/DeviceList/1/$ns3::CsmaNetDevice/PhyRxDrop ns3::EthernetHeader (x) ns3::ArpHeader (y)\n";
    let fragment = line('r', "2", 140, good).replace("[none]", "[MF]");
    let log = one(&[data, dropped, arp.to_owned(), fragment].concat());
    assert_eq!(log.places, ["node 0 device 0 TxQueue", "node 3 device 1 PhyRxDrop"]);
    assert_eq!(log.dropped_at, [1, 1]);
    assert_eq!((log.drops.length.as_slice(), log.drops.record.as_slice()), (&[140][..], &[2][..]));
    let counts = log.counts;
    assert_eq!((counts.queued, counts.dropped, counts.sent, counts.received), (1, 2, 0, 1));
    assert_eq!((counts.segments, counts.fragments), (0, 1));
    assert_eq!(codes(&log), ["unparsed-line"]);
}

const DATA: &str = "1 > 2 [ACK] Seq=1 Ack=1 Win=9";

/// A line of another node and device.
fn at(node: u32, device: u32, text: &str) -> String {
    text.replace("NodeList/0/DeviceList/0", &format!("NodeList/{node}/DeviceList/{device}"))
}

fn answer(operation: char, t: &str) -> String {
    line(operation, t, 40, "2 > 1 [SYN|ACK] Seq=0 Ack=1 Win=9")
        .replace("10.1.1.1 > 10.1.1.2", "10.1.1.2 > 10.1.1.1")
}

#[test]
fn hosts_see_their_own_and_routers_nothing() {
    let syn = "1 > 2 [SYN] Seq=0 Ack=0 Win=9";
    let log = one(&[
        line('-', "1", 40, syn),
        at(1, 0, &line('r', "1.1", 40, syn)),
        at(1, 1, &line('-', "1.1", 40, syn)),
        at(2, 0, &line('r', "1.2", 40, syn)),
        at(2, 0, &answer('-', "1.3")),
        at(1, 1, &answer('r', "1.4")),
        at(1, 0, &answer('-', "1.4")),
        answer('r', "1.5"),
        line('-', "1.6", 140, DATA),
        at(1, 0, &line('r', "1.7", 140, DATA)),
    ]
    .concat());
    let seen: Vec<_> = log.seen.iter().map(|seen| (seen.host, seen.columns.record.clone())).collect();
    assert_eq!(seen, [(Some(0), vec![1, 8, 9]), (Some(2), vec![4, 5])]);
    assert!(log.issues.is_empty());
}

#[test]
fn who_only_receives_is_the_last_that_did() {
    let log = one(&[at(1, 0, &line('r', "1.1", 140, DATA)), at(2, 0, &line('r', "1.2", 140, DATA))].concat());
    let seen: Vec<_> = log.seen.iter().map(|seen| (seen.host, seen.columns.record.clone())).collect();
    assert_eq!(seen, [(Some(2), vec![2])]);
}

#[test]
fn devices_are_preferred_to_the_ip_layer() {
    let ip = "t 1 /NodeList/0/$ns3::Ipv4L3Protocol/Tx(1) ns3::Ipv4Header (tos 0x0 ttl 64 id 7 protocol 6 offset (bytes) \
              0 flags [none] length: 140 10.1.1.1 > 10.1.1.2) ns3::TcpHeader (1 > 2 [ACK] Seq=1 Ack=1 Win=9)\n";
    assert_eq!(one(ip).seen[0].columns.record, [1]);
    assert_eq!(one(&(ip.to_owned() + &line('-', "1", 140, DATA) + ip)).seen[0].columns.record, [2]);
}

#[test]
fn what_is_overheard_on_the_air_is_for_somebody_else() {
    let wifi = |text: &str, to: u8, from: u8| {
        let header = format!(
            "ErpOfdmRate24Mbps ns3::WifiMacHeader (DATA ToDS={to}, FromDS={from}, Retry=0, DA=00:00:00:00:00:03, \
             SA=00:00:00:00:00:02, BSSID=00:00:00:00:00:01, SeqNumber=2) ns3::LlcSnapHeader"
        );
        text.replace("ns3::PppHeader", &header)
    };
    let reply = at(2, 0, &answer('t', "1.5"));
    let reply = wifi(&reply, 1, 0)
        .replace("DA=00:00:00:00:00:03, SA=00:00:00:00:00:02", "DA=00:00:00:00:00:02, SA=00:00:00:00:00:03");
    let log = one(&[
        wifi(&line('t', "1", 140, DATA), 1, 0),
        at(2, 0, &wifi(&line('r', "1.1", 140, DATA), 1, 0)),
        at(1, 0, &wifi(&line('t', "1.2", 140, DATA), 0, 1)),
        at(2, 0, &wifi(&line('r', "1.3", 140, DATA), 0, 1)),
        reply,
        at(2, 0, &wifi(&line('r', "1.6", 140, DATA), 1, 0)),
    ]
    .concat());
    assert_eq!(log.seen[1].columns.record, [4, 5]);
}

#[test]
fn frames_sent_again_are_one_segment() {
    let wifi = |operation, t, retry: u8| {
        line(operation, t, 140, DATA)
            .replace("ns3::PppHeader", &format!("ns3::WifiMacHeader (DATA Retry={retry}"))
    };
    let log = one(&[
        wifi('t', "1", 0),
        wifi('t', "1.1", 1),
        at(1, 0, &wifi('r', "1.2", 1)),
        at(1, 0, &wifi('r', "1.3", 1)),
        at(1, 0, &answer('t', "1.4")),
    ]
    .concat());
    assert_eq!(log.counts.mac_retries, 1);
    assert_eq!(log.seen[1].columns.record, [3, 5]);
}

#[test]
fn ipv6_without_context() {
    let text = "- 5.0249 ns3::EthernetHeader ( length/type=0x86dd) ns3::Ipv6Header ((Version 6 Traffic class 0x0 DSCP \
                Default Flow Label 0x1 Payload Length 136 Next Header 6 Hop Limit 64 )2001:db8::1 > 2001:db8::2) \
                ns3::TcpHeader (49153 > 9 [PSH|ACK] Seq=1 Ack=1 Win=65535 ns3::TcpOptionTS(5000;0) \
                ns3::TcpOptionEnd(EOL)) Payload (size=104)\n";
    let log = one(text);
    let seen = &log.seen[0];
    assert_eq!((seen.host, seen.columns.length[0], seen.columns.ip_length[0]), (None, 104, 176));
}

#[test]
fn faults() {
    let good = "1 > 2 [ACK] Seq=1 Ack=1 Win=9";
    for (text, code) in [
        ("x 1 y\n".to_owned(), "unparsed-line"),
        (line('-', "1.2.3", 40, good), "bad-number"),
        (line('-', "1", 39, good), "bad-number"),
        (line('-', "1", 40, "1 > 99999 [ACK] Seq=1 Ack=1 Win=9"), "bad-number"),
        (line('-', "1", 40, "1 > 2 [ACX] Seq=1 Ack=1 Win=9"), "bad-number"),
        (line('-', "1", 40, "1 > 2 [ACK] Seq=4294967296 Ack=1 Win=9"), "bad-number"),
        (line('-', "2", 40, good), "missing-handshake"),
        (line('+', "2", 40, good) + &line('+', "1", 40, good), "out-of-order-lines"),
    ] {
        assert_eq!(codes(&one(&text)), [code], "{text}");
    }
}
