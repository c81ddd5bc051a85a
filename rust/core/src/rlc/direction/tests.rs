use super::*;

fn piece(sn: u32, start: u32, length: u32, hash: u64) -> Piece {
    Piece { sn, start, length, last: true, hash }
}

fn sent(direction: &mut RlcDirection, sn: u32, hash: u64) -> (i64, i16, u32, bool) {
    let found = direction.send(piece(sn, 0, 40, hash), false);
    (found.offset, found.attempt, found.missing, found.restart)
}

fn received(direction: &mut RlcDirection, sn: u32, hash: u64) -> (i64, i64, bool) {
    let found = direction.receive(&piece(sn, 0, 40, hash));
    (found.offset, found.number, found.had)
}

#[test]
fn new_again_and_missed() {
    let mut direction = RlcDirection::new(10);
    assert!(!direction.used());
    assert_eq!(sent(&mut direction, 1022, 1), (0, 0, 0, false));
    assert_eq!(sent(&mut direction, 1023, 2), (40, 0, 0, false));
    assert_eq!(sent(&mut direction, 0, 3), (80, 0, 0, false));
    assert_eq!(sent(&mut direction, 1023, 2), (40, 1, 0, false));
    assert_eq!(sent(&mut direction, 1023, 2), (40, 2, 0, false));
    assert_eq!(sent(&mut direction, 3, 4), (200, 0, 2, false));
    assert_eq!(sent(&mut direction, 1, 9), (120, 1, 0, false));
    // Before the capture began.
    assert_eq!(sent(&mut direction, 900, 9), (-1, 1, 0, false));
    assert_eq!(received(&mut direction, 1023, 2), (40, 1, false));
    assert_eq!(received(&mut direction, 1023, 2), (40, 1, true));
    assert_eq!(received(&mut direction, 500, 2), (-1, -1, false));
    // SN 1023, 0 and 3 are the second, third and sixth; what lies ahead is counted on.
    assert_eq!([1023, 3, 4, 14, 600].map(|sn| direction.number_of(sn)), [1, 5, 6, 16, -1]);
}

#[test]
fn begun_anew() {
    let mut direction = RlcDirection::new(10);
    for sn in 0..700 {
        sent(&mut direction, sn, u64::from(sn));
    }
    assert_eq!(sent(&mut direction, 0, 1000), (28000, 0, 0, true));
    assert_eq!(sent(&mut direction, 1, 1001), (28040, 0, 0, false));
    // What was on its way when the sender began anew.
    assert_eq!(received(&mut direction, 699, 699), (27960, 699, false));
    assert_eq!((direction.epoch(), direction.number_of(1)), (1, 701));
    // The same bytes again are no new start; other bytes are.
    assert_eq!(sent(&mut direction, 0, 1000), (28000, 1, 0, false));
    assert_eq!(sent(&mut direction, 0, 7), (28080, 0, 0, true));
    assert!(direction.send(piece(0, 0, 20, 9), false).restart);
    // Known to have begun anew: not so many were missed.
    let found = direction.send(piece(3, 0, 40, 8), true);
    assert_eq!((found.missing, found.restart), (3, true));
}

#[test]
fn begun_anew_behind_what_was_acknowledged() {
    for (acked, asked, expected) in [(Some(7), None, true), (Some(7), Some(1), false), (None, None, false)] {
        let mut direction = RlcDirection::new(10);
        sent(&mut direction, 5, 1);
        sent(&mut direction, 6, 2);
        acked.iter().for_each(|sn| direction.acknowledged(*sn));
        asked.iter().for_each(|sn| direction.asked(*sn));
        assert_eq!(sent(&mut direction, 1, 3).3, expected, "{acked:?} {asked:?}");
    }
}

#[test]
fn begun_anew_with_pdus_of_equal_length() {
    for (acked, armed, count, expected) in [
        (true, false, 200, true),
        (false, false, 200, false),
        (true, false, 40, false),
        (true, true, 40, true),
    ] {
        let mut direction = RlcDirection::new(10);
        for sn in 0..count {
            sent(&mut direction, sn, 0);
        }
        if acked {
            direction.acknowledged(count);
        }
        assert_eq!(direction.send(piece(0, 0, 40, 0), armed).restart, expected, "{acked} {armed} {count}");
    }
}

#[test]
fn what_was_asked_for_may_cross_with_its_acknowledgement() {
    let mut direction = RlcDirection::new(10);
    for sn in 0..200 {
        sent(&mut direction, sn, 0);
    }
    direction.acknowledged(200);
    direction.asked(0);
    direction.acknowledged(200);
    assert!(!direction.send(piece(0, 0, 40, 0), false).restart);
}

#[test]
fn parts_of_a_pdu() {
    let mut direction = RlcDirection::new(12);
    sent(&mut direction, 0, 1);
    let part = |start, length, last| Piece { sn: 0, start, length, last, hash: 5 };
    assert_eq!(direction.send(part(0, 25, false), false).attempt, 1);
    let found = direction.send(part(25, 15, true), false);
    assert_eq!((found.offset, found.attempt), (25, 1));
    assert_eq!(direction.send(part(25, 15, true), false).attempt, 2);
    // An SDU in two segments, each for the first time; then the next one.
    let first = Piece { sn: 1, start: 0, length: 100, last: false, hash: 1 };
    assert_eq!(direction.send(first, false).offset, 40);
    let rest = Piece { sn: 1, start: 100, length: 50, last: true, hash: 2 };
    let found = direction.send(rest, false);
    direction.grow(&rest);
    assert_eq!((found.offset, found.attempt), (140, 0));
    assert_eq!(sent(&mut direction, 2, 1).0, 190);
    assert_eq!(direction.send(first, false).attempt, 1);
}
