use super::*;

const START: &str = r#"{"connected":[{"socket":5,"local_host":"::ffff:10.0.0.1","local_port":4000,"remote_host":"fe80::1%eth0","remote_port":5201}],"timestamp":{"timesecs":1700000000},"connecting_to":{},"tcp_mss_default":1000,"test_start":{"protocol":"TCP"}}"#;

fn stream(begin: f64, end: f64, more: &str) -> String {
    format!(
        r#"{{"streams":[{{"socket":5,"start":{begin},"end":{end},"bytes":1000{more}}}],"sum":{{"bytes":7}}}}"#
    )
}

fn line(name: &str, data: &str) -> String {
    format!("{{\"event\":\"{name}\",\"data\":{data}}}\n")
}

fn codes(log: &Iperf3Log) -> Vec<(&'static str, u64, u64)> {
    log.issues.iter().map(|(code, seen)| (code, seen.count, seen.first_record)).collect()
}

fn column(log: &Iperf3Log, name: &str) -> Vec<i64> {
    log.columns[COLUMNS.iter().position(|column| *column == name).unwrap()].clone()
}

#[test]
fn a_stream_and_a_document_say_the_same() {
    let sender = r#","retransmits":2,"snd_cwnd":2500,"snd_wnd":9,"rtt":20000,"rttvar":0,"sender":true"#;
    // Left out with -O: the time begins anew.
    let parts = [stream(0.0, 1.0, sender), stream(1.0, 2.0, sender), stream(0.0, 1.0, sender)];
    let end = r#"{"sum_sent":{"bytes":3000}}"#;
    let mut text = line("start", START);
    text.extend(parts.iter().map(|part| line("interval", part)));
    text += &line("end", end);
    let log = scan(text.as_bytes()).unwrap();
    assert_eq!(codes(&log), []);
    assert_eq!(log.t_ns, [1_700_000_001_000_000_000, 1_700_000_002_000_000_000, 1_700_000_003_000_000_000]);
    assert_eq!((log.start_ns, log.has_base, log.intervals), (1_700_000_000_000_000_000, true, 3));
    assert_eq!(log.sockets, [("10.0.0.1".into(), 4000, "fe80::1".into(), 5201)]);
    assert_eq!(column(&log, "app_written"), [1037, 2037, 3037]);
    assert_eq!(column(&log, "app_read"), [-1; 3]);
    assert_eq!(column(&log, "cwnd"), [2; 3]);
    assert_eq!(column(&log, "srtt_ns"), [20_000_000; 3]);
    assert_eq!(column(&log, "rttvar_ns"), [-1; 3]);
    assert_eq!(column(&log, "retrans_total"), [2, 4, 6]);
    assert_eq!((log.start.as_slice(), log.end.as_slice()), (START.as_bytes(), end.as_bytes()));
    // Whatever the order of its parts.
    for (one, other) in [("start", "end"), ("end", "start")] {
        let value = |name: &str| if name == "start" { START } else { end };
        let text = format!(
            "{{\"{one}\": {}, \"intervals\" : [{}],\n\"{other}\":{}}}\n",
            value(one),
            parts.join(", "),
            value(other)
        );
        let read = read(text.as_bytes());
        assert_eq!((codes(&read), &read.t_ns, &read.columns), (vec![], &log.t_ns, &log.columns));
        assert_eq!((read.record.as_slice(), &read.end), (&[2, 3, 4][..], &log.end));
    }
}

#[test]
fn a_receiver_and_other_protocols() {
    let text = line("start", &START.replace("connecting_to", "x"))
        + &line("interval", &stream(0.0, 1.0, ""))
        + &line("interval", &stream(1.0, 2.0, r#","sender":false,"snd_cwnd":1"#));
    let log = scan(text.as_bytes()).unwrap();
    assert_eq!(column(&log, "app_read"), [1037, 2037]);
    assert_eq!(column(&log, "app_written"), [-1, -1]);
    let log = scan(text.replace("TCP", "UDP").as_bytes()).unwrap();
    assert_eq!((log.t_ns.len(), log.intervals, codes(&log)), (0, 2, vec![]));
}

#[test]
fn faults() {
    let text = [
        line("start", START),
        line("interval", &stream(2.0, 1.0, "")),
        line("interval", &stream(0.0, 1e9, "")),
        line("interval", &stream(0.0, 1.0, "").replace(":5,", ":6,")),
        line("nothing", "{}"),
        "{\"event\":\"interval\",\"data\":{\"streams\":[{}\n\n".into(),
        line("interval", "{\"streams\":[7]}"),
        line("interval", "[]"),
        line("error", "\"it broke\""),
        // What it is comes behind the data.
        format!("{{\"data\":{},\"event\":\"interval\"}}\n", stream(0.0, 1.0, "")),
    ];
    let log = scan(text.concat().as_bytes()).unwrap();
    assert_eq!(codes(&log), [("bad-number", 4, 2), ("unparsed-line", 2, 5)]);
    assert_eq!(
        (log.record.as_slice(), log.intervals, log.error.as_slice()),
        (&[11][..], 6, &b"\"it broke\""[..])
    );
}

#[test]
fn a_document_that_is_cut_anywhere() {
    let whole = format!(
        "{{\"start\": {START},\n\"intervals\": [{}, {}], \"end\": {{}}}}",
        stream(0.0, 1.0, ""),
        stream(1.0, 2.0, "")
    );
    let mut rows = 0;
    for length in 1..whole.len() {
        let log = read(&whole.as_bytes()[..length]);
        assert_eq!(codes(&log), [("truncated-file", 1, 1)], "{length}");
        assert!((rows..=2).contains(&log.t_ns.len()), "{length}");
        rows = log.t_ns.len();
    }
    assert_eq!(rows, 2);
    let twice = read([whole.as_str(), "\n", whole.as_str()].concat().as_bytes());
    assert_eq!(
        (codes(&twice), twice.record, twice.sockets.len()),
        (vec![("out-of-order-lines", 1, 6)], vec![2, 3, 6, 7], 1)
    );
}

#[test]
fn a_sum_behind_the_intervals_is_no_interval() {
    let sender = r#","omitted":false,"sender":true"#;
    let mut text = line("start", START);
    for (begin, end) in [(0.0, 1.0), (1.0, 2.0), (2.0, 2.2), (0.0, 2.2)] {
        text += &line("interval", &stream(begin, end, sender));
    }
    let log = scan(text.as_bytes()).unwrap();
    assert_eq!(log.whole_tests, 1);
    assert_eq!(log.t_ns.last(), Some(&1_700_000_002_200_000_000));
    assert_eq!(column(&log, "app_written"), [1037, 2037, 3037]);
    assert_eq!(log.starts, [1_700_000_000_000_000_000]);
    // Behind intervals that -O leaves out, an interval of their length is the first of the test.
    let mut text = line("start", START);
    for (begin, end, omitted) in [(0.0, 1.0, true), (1.0, 2.0, true), (0.0, 2.0, false)] {
        let more = format!(r#","omitted":{omitted},"sender":true"#);
        text += &line("interval", &stream(begin, end, &more));
    }
    let log = scan(text.as_bytes()).unwrap();
    assert_eq!((log.whole_tests, log.t_ns.len()), (0, 3));
    assert_eq!(log.t_ns.last(), Some(&1_700_000_004_000_000_000));
}
