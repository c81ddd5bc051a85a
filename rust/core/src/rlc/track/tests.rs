use super::*;
use crate::linktable::{CAUSES, KINDS};

fn row(t_ns: i64, uplink: bool, kind: Kind, sn: u32, hash: u64) -> Row {
    Row {
        t_ns,
        record: t_ns,
        interface: 0,
        uplink,
        kind,
        sn,
        start: 0,
        length: 40,
        last: true,
        poll: false,
        part: false,
        hash,
    }
}

fn data(t_ns: i64, uplink: bool, sn: u32) -> Row {
    row(t_ns, uplink, Kind::Data, sn, t_ns as u64)
}

fn resets(found: &Tracked) -> Vec<(i64, i16, &'static str)> {
    let events = &found.events;
    (0..events.t_ns.len())
        .filter(|&at| KINDS[events.kind[at] as usize] == "reset")
        .map(|at| (events.t_ns[at], events.entity[at], CAUSES[events.cause[at] as usize]))
        .collect()
}

fn both(from_ns: i64, count: u32) -> Vec<Row> {
    let place = |sn: u32| from_ns + i64::from(sn) * 2;
    (0..count).flat_map(|sn| [data(place(sn), true, sn), data(place(sn) + 1, false, sn)]).collect()
}

#[test]
fn a_reset_is_told_once_by_each_side() {
    let mark = |kind| row(1000, true, kind, 0, 0);
    for (kind, expected) in [
        (None, [(219, 0, "other"), (2001, 1, "peer")]),
        (Some(Kind::Reestablishment), [(1000, 0, "reestablishment"), (2001, 1, "peer")]),
        (Some(Kind::Handover), [(219, 1, "handover"), (2000, 0, "peer")]),
        (Some(Kind::Command), [(1000, 1, "handover"), (2000, 0, "peer")]),
    ] {
        let rows = [both(100, 60), kind.map(mark).into_iter().collect(), both(2000, 60)].concat();
        let found = track(12, &rows, |_| View::Air);
        assert_eq!(resets(&found), expected, "{kind:?}");
        assert!(found.issues.is_empty());
        assert!(found.frames.attempt.iter().all(|attempt| *attempt == 0));
        assert_eq!(found.frames.offset.last(), Some(&(119 * 40)));
        assert_eq!((found.pdus.number.last(), found.pdus.epoch.last()), (Some(&119), Some(&1)));
    }
}

#[test]
fn a_bearer_that_had_nothing_to_send_did_not_stand_still() {
    let again = 20_000_000_000;
    let found = track(12, &[both(100, 60), both(again, 60)].concat(), |_| View::Air);
    assert_eq!(resets(&found), [(again, 0, "other"), (again + 1, 1, "peer")]);
}

#[test]
fn a_request_that_is_repeated_is_one_reset() {
    let ask = |t_ns| row(t_ns, true, Kind::Reestablishment, 0, 0);
    let on = |t_ns, sn| data(t_ns, false, sn);
    let rows =
        [both(100, 60), vec![ask(1000), on(1100, 60), ask(1300), on(1400, 61)], both(2000, 60)].concat();
    let found = track(12, &rows, |_| View::Air);
    assert_eq!(resets(&found), [(1000, 0, "reestablishment"), (2001, 1, "peer")]);
    // One that was answered is over when data is sent again, or after a while if nobody has any.
    let times = |rows: &[Row], view: fn(u16) -> View| -> Vec<i64> {
        resets(&track(12, rows, view)).iter().map(|one| one.0).collect()
    };
    let after = 1300 + SAME_TROUBLE_NS;
    let answered = row(1010, false, Kind::Answer, 0, 0);
    for (between, again, expected) in [
        (vec![], 1300, vec![1000]),
        (vec![], after, vec![1000, after]),
        (vec![on(1200, 60)], 1300, vec![1000, 1300]),
    ] {
        let rows = [both(100, 60), vec![ask(1000), answered], between, vec![ask(again)]].concat();
        assert_eq!(times(&rows, |_| View::Air), expected);
    }
    // An answer that did not reach the terminal is none; what it asked before it had one, neither.
    let ends = |interface| if interface == 0 { View::Ue } else { View::Bs };
    let answer = |t_ns, interface| Row { interface, ..row(t_ns, false, Kind::Answer, 0, 0) };
    let late = Row { interface: 1, ..ask(after) };
    let sent = |t_ns, interface| Row { interface, ..on(t_ns, 0) };
    let rows = [both(100, 60), vec![ask(1000), answer(1010, 1), ask(1300), late]].concat();
    assert_eq!(times(&rows, ends), [1000]);
    // What was sent since may be lost; what was received was not.
    let answered = [rows, vec![answer(1320, 0), sent(1340, 1)]].concat();
    assert_eq!(times(&[&answered[..], &[late, ask(1400)]].concat(), ends), [1000]);
    let received = Row { hash: 1340, ..sent(1350, 0) };
    let rows = [answered, vec![received, late, ask(1400)]].concat();
    assert_eq!(times(&rows, ends), [1000, 1400]);
    // Both have begun anew, and do so again after the second request, long after.
    let twice: Vec<Row> = [
        both(100, 60),
        vec![ask(1000), on(1005, 0), row(1010, false, Kind::Answer, 0, 0), on(1210, 1), ask(1300)],
        vec![Row { hash: 7, ..on(1300 + 2 * SAME_TROUBLE_NS, 0) }],
    ]
    .concat();
    let views = |row: Row| Row { interface: u16::from(!row.uplink && row.kind == Kind::Data), ..row };
    let twice: Vec<Row> = twice.into_iter().map(views).collect();
    let reported: Vec<_> = resets(&track(12, &twice, ends)).iter().map(|one| one.2).collect();
    assert_eq!(reported, ["reestablishment", "peer", "peer"]);
    let reported = track(12, &rows, ends).events;
    let answers = (0..reported.t_ns.len()).filter(|&at| KINDS[reported.kind[at] as usize] == "UA");
    let answers: Vec<_> =
        answers.map(|at| (reported.t_ns[at], reported.entity[at], reported.action[at])).collect();
    assert_eq!(answers, [(1010, 1, SND), (1320, 0, RCV)]);
}

#[test]
fn a_mark_that_nothing_follows_is_no_reset() {
    let mut rows = both(100, 60);
    rows.push(row(1000, true, Kind::Handover, 0, 0));
    rows.extend((60..90).map(|sn| data(2000 + i64::from(sn), true, sn)));
    assert!(resets(&track(12, &rows, |_| View::Air)).is_empty());
}

#[test]
fn reports_and_receptions() {
    let mut rows = vec![data(1, true, 0), data(2, true, 1)];
    let view = |interface| if interface == 0 { View::Ue } else { View::Bs };
    rows.push(Row { t_ns: 5, interface: 1, ..rows[1] });
    rows.push(Row { interface: 1, ..row(6, false, Kind::Status, 2, 0) });
    rows.push(Row { interface: 1, ..row(6, false, Kind::Nack, 0, 0) });
    rows.push(row(7, false, Kind::Status, 2, 0));
    rows.push(Row { t_ns: 8, ..rows[0] });
    rows.push(Row { t_ns: 9, interface: 1, ..rows[0] });
    rows.push(Row { t_ns: 10, interface: 1, ..rows[0] });
    let found = track(10, &rows, view);
    assert_eq!(found.frames.action, [0, 0, 1, 0, 1, 1]);
    assert_eq!(found.frames.entity, [0, 0, 1, 0, 1, 1]);
    assert_eq!(found.frames.offset, [0, 40, 40, 0, 0, 0]);
    assert_eq!(found.frames.attempt, [0, 0, 0, 1, 0, 0]);
    assert_eq!(found.frames.duplicate, [0, 0, 0, 0, 0, 1]);
    assert_eq!((found.events.action, found.events.nr), (vec![0, 0, 1], vec![2, 0, 2]));
    assert_eq!(found.pdus.kind, [0, 0, 0, 1, 2, 1, 0, 0, 0]);
    assert_eq!(found.pdus.number, [0, 1, 1, 2, 0, 2, 0, 0, 0]);
    // A base station alone: what it has received is numbered all the same.
    let first = data(1, true, 0);
    let alone = [first, Row { t_ns: 2, ..first }, data(3, true, 1)];
    let found = track(10, &alone, |_| View::Bs);
    assert_eq!((found.frames.duplicate, found.frames.offset), (vec![0, 1, 0], vec![0, 0, 40]));
    assert_eq!(found.frames.action, [RCV; 3]);
}

#[test]
fn what_a_receiver_has_out_of_order() {
    let received = |t_ns, sn, length| Row { length, hash: 0, ..data(t_ns, false, sn) };
    let rows = [
        received(1, 5, 10),
        received(2, 8, 40),
        Row { length: 1, ..row(3, true, Kind::Nack, 6, 0) },
        received(3, 7, 30),
        received(4, 6, 20),
        received(5, 7, 30),
        received(6, 10, 60),
    ];
    let found = track(10, &rows, |_| View::Ue);
    assert_eq!(found.frames.offset, [0, 60, 30, 10, 30, 140]);
    assert_eq!(
        (found.frames.duplicate, found.frames.attempt),
        (vec![0, 0, 0, 0, 1, 0], vec![0, 0, 0, 1, 1, 0])
    );
    let issues: Vec<_> =
        found.issues.iter().map(|(code, seen)| (code, seen.count, seen.first_record)).collect();
    assert_eq!(issues, [("missing-frames", 1, 6)]);
}

#[test]
fn times_out_of_order() {
    let found = track(10, &[data(5, true, 0), data(4, true, 1)], |_| View::Air);
    assert_eq!(found.issues.iter().map(|(code, _)| code).collect::<Vec<_>>(), ["out-of-order-lines"]);
}
