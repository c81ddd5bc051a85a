use proptest::prelude::*;

use super::*;
use crate::segment::flags;

fn read_text(text: &str) -> Ns2Log {
    scan(text.as_bytes(), true, HEADER_BYTES).unwrap()
}

/// A transfer of three packets over one link: the second is lost and comes again.
const LOSS: &str = "\
+ 0 0 1 tcp 40 ------- 1 0.0 1.0 0 0
- 0 0 1 tcp 40 ------- 1 0.0 1.0 0 0
r 0.01 0 1 tcp 40 ------- 1 0.0 1.0 0 0
+ 0.01 1 0 ack 40 ------- 1 1.0 0.0 0 1
r 0.02 1 0 ack 40 ------- 1 1.0 0.0 0 1
+ 0.02 0 1 tcp 1040 ------- 1 0.0 1.0 1 2
+ 0.02 0 1 tcp 1040 ------- 1 0.0 1.0 2 3
d 0.02 0 1 tcp 1040 ------- 1 0.0 1.0 1 2
r 0.03 0 1 tcp 1040 ------- 1 0.0 1.0 2 3
+ 0.03 1 0 ack 40 ------- 1 1.0 0.0 0 4
r 0.04 1 0 ack 40 ------- 1 1.0 0.0 0 4
+ 1.5 0 1 tcp 1040 ------- 1 0.0 1.0 1 5
r 1.51 0 1 tcp 1040 ------- 1 0.0 1.0 1 5
+ 1.51 1 0 ack 40 ------- 1 1.0 0.0 2 6
r 1.52 1 0 ack 40 ------- 1 1.0 0.0 2 6
";

#[test]
fn packets_are_segments_at_both_ends() {
    let log = read_text(LOSS);
    assert!(log.issues.is_empty(), "{:?}", log.issues);
    assert_eq!((log.segment_bytes.as_slice(), log.without_syn, log.level), (&[1000][..], 0, Level::Agent));
    let [sent, received] = &log.views;
    let data: Vec<_> =
        (0..7).filter(|row| sent.columns.dir[*row] == 0).map(|row| sent.columns.seq[row]).collect();
    assert_eq!(data, [0, 1, 1001, 1]);
    assert_eq!(sent.columns.flags[0], flags::SYN);
    assert_eq!(sent.columns.ack.iter().copied().filter(|ack| *ack >= 0).collect::<Vec<_>>(), [1, 1, 2001]);
    let sender = sent.connections[0].senders_at(0);
    assert_eq!((sender.totals().data_bytes, sender.totals().duplicate_bytes), (3000, 1000));
    assert_eq!((sender.unique_bytes(), sender.acked_bytes()), (2000, 2000));
    assert_eq!(sender.timeouts().len(), 1);
    let arrived = received.connections[0].senders_at(0);
    assert_eq!((arrived.totals().data_bytes, arrived.totals().duplicate_bytes), (2000, 0));
    assert_eq!(log.events.kind, [0]);
    assert_eq!(log.events.reasons, ["link --- tcp"]);
    assert_eq!(log.entities, ["0-1"]);
    assert!(sent.columns.window.iter().all(|window| *window == -1), "{:?}", sent.columns.window);
}

#[test]
fn agents_lines_come_before_those_below() {
    let below = "\
s 1.0 _0_ RTR  --- 6 tcp 1060 [0 0 0 0] ------- [0:0 1:0 32 1] [1 0] 0 0
s 1.1 _0_ MAC  --- 6 tcp 1112 [13a 1 0 800] ------- [0:0 1:0 32 1] [1 0] 0 0
s 1.2 _0_ MAC  --- 6 tcp 1112 [13a 1 0 800] ------- [0:0 1:0 32 1] [1 0] 0 0
r 1.3 _1_ MAC  --- 6 tcp 1060 [13a 1 0 800] ------- [0:0 1:0 32 1] [1 0] 1 0
D 1.4 _1_ IFQ  ARP 6 tcp 1060 [13a 1 0 800] ------- [0:0 1:0 32 1] [1 0] 1 0
";
    let log = read_text(below);
    assert_eq!(
        (log.level, log.views[0].columns.t_ns.len(), log.views[1].columns.t_ns.len()),
        (Level::Below, 1, 1)
    );
    assert_eq!(log.frames.attempt, [0, 1, 0]);
    assert_eq!((log.events.kind.as_slice(), log.events.reasons[0].as_str()), (&[0][..], "IFQ ARP tcp"));
    let agent = "s 2.0 _0_ AGT  --- 7 tcp 1040 [0 0 0 0] ------- [0:0 1:0 32 1] [2 0] 0 0\n";
    let log = read_text(&format!("{below}{agent}"));
    assert_eq!((log.level, log.views[0].columns.t_ns.len()), (Level::Agent, 1));
    assert_eq!(log.segment_bytes, [1000]);
}

#[test]
fn control_frames_and_energy_of_both_formats() {
    let log = read_text(
        "s 1.0 _2_ MAC  --- 0 RTS 44 [52e 3 2 0] [energy 9.5 ei 0.000 es 0.000 et 0.000 er 0.000] \n\
         r 1.1 _3_ MAC  --- 0 RTS 44 [52e 3 2 0] [energy 9.5 ei 0.000 es 0.000 et 0.000 er 0.000] \n\
         N -t 1.2 -n 2 -e 9.25\nN -t 1.2 -n 2 -e 9.25\n\
         s -t 2.0 -Hs 0 -Hd -2 -Ni 0 -Ne 9.0 -Nl MAC -Nw --- -Ma 52e -Md 3 -Ms 0 -Mt 0 \n\
         r -t 2.1 -Hs 3 -Hd -2 -Ni 3 -Ne -1.0 -Nl MAC -Nw --- -Ma 52e -Md 3 -Ms 0 -Mt 0 \n\
         s -t 2.2 -Hs 3 -Hd -2 -Ni 3 -Ne 9.0 -Nl MAC -Nw --- -Ma 3f4 -Md 0 -Ms 0 -Mt 0 \n\
         r -t 2.3 -Hs 0 -Hd -2 -Ni 0 -Ne 9.0 -Nl MAC -Nw --- -Ma 3f4 -Md 0 -Ms 0 -Mt 0 \n\
         s -t 2.4 -Hs 0 -Hd -2 -Ni 0 -Ne 9.0 -Nl MAC -Nw --- -Ma 0 -Md 3 -Ms 0 -Mt 0 \n",
    );
    assert!(log.issues.is_empty(), "{:?}", log.issues);
    let kinds: Vec<_> = log.events.kind.iter().map(|kind| KINDS[*kind as usize]).collect();
    assert_eq!(kinds, ["RTS", "RTS", "RTS", "RTS", "CTS", "CTS", "ACK"]);
    assert_eq!(log.energy.joules, [9.5, 9.5, 9.25, 9.0, 9.0]);
}

#[test]
fn bytes_of_full_tcp() {
    let shown = "\
+ 0 0 1 tcp 40 ------- 1 0.0 1.0 0 0 0 0x2 40 0
+ 0.1 1 0 ack 40 ------- 1 1.0 0.0 0 1 1 0x12 40 0
+ 0.2 0 1 tcp 1000 ------- 1 0.0 1.0 1 2 1 0x10 40 0
+ 0.3 0 1 tcp 1000 ------- 1 0.0 1.0 961 3 1 0x10 40 0
";
    let log = read_text(shown);
    assert_eq!(log.views[0].columns.seq, [0, 1, 961]);
    assert_eq!(log.views[1].columns.ack, [1]);
    let hidden: String = shown
        .lines()
        .filter(|l| l.contains("tcp"))
        .map(|l| l.rsplitn(5, ' ').last().unwrap().to_owned() + "\n")
        .collect();
    let log = read_text(&hidden);
    assert_eq!(log.issues.iter().map(|(code, _)| code).collect::<Vec<_>>(), ["unclear-sequence"]);
}

#[test]
fn dirty_lines() {
    let log = read_text(
        "num_nodes is set 4\nSconfig 0.00000 tap: on\nM 10.0 2 (1, 2, 0), (3, 4), 4.2\n+ x 0 1\nr 1\n\n",
    );
    assert_eq!(log.remarks, 2);
    assert_eq!(
        log.issues.iter().map(|(code, seen)| (code, seen.count)).collect::<Vec<_>>(),
        [("unparsed-line", 2), ("bad-number", 1)].into_iter().rev().collect::<Vec<_>>()
    );
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::sample::select(LOSS.split_inclusive(['\n', ' ']).collect::<Vec<_>>())
            .prop_map(|text| text.as_bytes().to_vec()),
        proptest::sample::select(vec![
            "s 1.0 _0_ AGT  --- 6 tcp 1060 [0 0 0 0] ",
            "[energy 9 ei",
            "------- [0:0 1:0 32 1] [1 0] 0 0\n",
            "D 1 _1_ MAC RET 0 RTS 44 [0 1 1 0]\n",
            "s -t 1 -Ni 0 -Nl MAC -Ma ff -Md 1 -Ms 0 -Il 9\n",
            "N -t 1 -n 70000 -e 5\n",
            "1.5 0 0 3 0 cwnd_ 2\n",
            "-Is 0.0 -Id 1.0 -It ack -Ps -1 ",
            "+ 1 0 1 tcp 4294967295 ------- 1 0.0 1.0 4294967294 18446744073709551615 ",
            "1 0xffffffffffffffff 99 0\n",
            "1e-5 ",
            "_4294967295_ ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(pieces in proptest::collection::vec(piece(), 0..100)) {
        let text = pieces.concat();
        let log = scan(&text[..], true, HEADER_BYTES).unwrap();
        prop_assert_eq!(log.frames.t_ns.len(), log.frames.attempt.len());
        prop_assert_eq!(log.events.t_ns.len(), log.events.reason.len());
        prop_assert!(log.events.reason.iter().all(|at| (*at as i64) < log.events.reasons.len() as i64));
        prop_assert!(log.events.entity.iter().all(|at| (*at as usize) < log.entities.len()));
        prop_assert_eq!(log.energy.t_ns.len(), log.energy.joules.len());
        let found = variables::scan(&text[..]).unwrap();
        prop_assert_eq!(found.rows.t_ns.len(), found.rows.value.len());
    }
}
