use super::*;

const NEVER: Recoveries<'_> = Recoveries { of: &[], begin_ns: &[], end_ns: &[] };

fn found(sent: Sent<'_>, received: Received<'_>, recoveries: Recoveries<'_>) -> Vec<(usize, i64, i64)> {
    let mut found = Vec::new();
    walk(2, sent, received, recoveries, |steps| {
        found.extend(steps.iter().map(|step| (step.row, step.flight, step.pipe)));
    });
    found
}

#[test]
fn what_is_named_or_overtaken_has_left() {
    // Of four segments the first is lost; it is sent again when the others are acknowledged selectively.
    let sent = Sent {
        of: &[0, 0, 0, 0, 0, 1],
        t_ns: &[0, 1, 2, 3, 20, 0],
        record: &[1, 2, 3, 4, 6, 8],
        seq: &[1, 101, 201, 301, 1, 1],
        length: &[100, 100, 100, 100, 100, 7],
        duplicate: &[0, 0, 0, 0, 100, 0],
        timed_out: &[false; 6],
        highest: &[101, 201, 301, 401, 401, 8],
    };
    let received = Received {
        of: &[0, 0],
        t_ns: &[10, 30],
        record: &[5, 7],
        ack: &[1, 401],
        sack_high: &[301, -1],
        sack_count: &[1, 0],
        duplicate: &[true, false],
    };
    let steps = found(sent, received, NEVER);
    assert_eq!(
        steps,
        [
            (0, 100, 100),
            (1, 200, 200),
            (2, 300, 300),
            (3, 400, 400),
            (6, 400, 100),
            (4, 400, 200),
            (7, 0, 0),
            (5, 7, 7)
        ]
    );
}

#[test]
fn without_sack_a_duplicate_ack_stands_for_a_segment() {
    let sent = Sent {
        of: &[0; 4],
        t_ns: &[0, 1, 2, 3],
        record: &[1, 2, 3, 4],
        seq: &[1, 101, 201, 301],
        length: &[100; 4],
        duplicate: &[0; 4],
        timed_out: &[false; 4],
        highest: &[101, 201, 301, 401],
    };
    let received = Received {
        of: &[0; 4],
        t_ns: &[5, 10, 11, 12],
        record: &[5, 6, 7, 8],
        ack: &[101; 4],
        sack_high: &[-1; 4],
        sack_count: &[0; 4],
        duplicate: &[false, true, true, true],
    };
    let pipes = |recoveries| found(sent, received, recoveries)[4..].iter().map(|s| s.2).collect::<Vec<_>>();
    assert_eq!(pipes(NEVER), [300, 200, 100, 0]);
    let during = Recoveries { of: &[0], begin_ns: &[11], end_ns: &[12] };
    assert_eq!(pipes(during), [300, 200, 0, 0]);
}

#[test]
fn a_timer_that_expires_gives_up_all() {
    let sent = Sent {
        of: &[0; 3],
        t_ns: &[0, 0, 9],
        record: &[1, 2, 3],
        seq: &[1, 101, 1],
        length: &[100; 3],
        duplicate: &[0, 0, 100],
        timed_out: &[false, false, true],
        highest: &[101, 201, 201],
    };
    let received = Received {
        of: &[],
        t_ns: &[],
        record: &[],
        ack: &[],
        sack_high: &[],
        sack_count: &[],
        duplicate: &[],
    };
    assert_eq!(found(sent, received, NEVER)[..3], [(0, 100, 100), (1, 200, 200), (2, 200, 100)]);
}

#[test]
fn a_level_counts_until_the_next_step() {
    let step = |t_ns, flight| Step { row: 0, t_ns, flight, pipe: 0 };
    let level = Level::of(&[step(0, 3), step(10, 5), step(11, 4)], |step| step.flight);
    assert_eq!(level, Level { most: 5, over_time: 35.0 });
    assert_eq!(Level::of(&[], |step| step.flight), Level { most: 0, over_time: 0.0 });
}
