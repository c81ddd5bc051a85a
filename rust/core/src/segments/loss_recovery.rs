//! Loss recoveries of senders, as their retransmissions and ACKs show them (RFC 6582 section 3.2).

/// Times of senders, sender behind sender, each in order of time, with the highest byte until then, plus one.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'a> {
    /// The sender of each.
    pub of: &'a [i64],
    /// When it was.
    pub t_ns: &'a [i64],
    /// What had been sent, or acknowledged, until then; it never falls.
    pub highest: &'a [i64],
}

/// A recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The sender.
    pub of: i64,
    /// When it sent something again.
    pub begin_ns: i64,
    /// When all was acknowledged that had been sent before; the end of all times if it never was.
    pub end_ns: i64,
}

/// From the first retransmission until the ACK of all that was sent before it, one after the other.
#[must_use]
pub fn recoveries(again: Reached<'_>, acks: Reached<'_>) -> Vec<Recovery> {
    let mut found: Vec<Recovery> = Vec::new();
    let mut ack = 0;
    for ((&of, &begin_ns), &highest) in again.of.iter().zip(again.t_ns).zip(again.highest) {
        if found.last().is_some_and(|last| last.of == of && begin_ns <= last.end_ns) {
            continue;
        }
        // All that was sent before: the segment itself was, so its own end is part of it.
        while ack < acks.of.len() && (acks.of[ack] < of || acks.of[ack] == of && acks.highest[ack] < highest)
        {
            ack += 1;
        }
        let came = if acks.of.get(ack) == Some(&of) { acks.t_ns[ack] } else { i64::MAX };
        found.push(Recovery { of, begin_ns, end_ns: came.max(begin_ns.saturating_add(1)) });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(again: &[(i64, i64, i64)], acks: &[(i64, i64, i64)]) -> Vec<(i64, i64, i64)> {
        let columns = |rows: &[(i64, i64, i64)]| {
            let pick = |value: fn(&(i64, i64, i64)) -> i64| rows.iter().map(value).collect::<Vec<_>>();
            (pick(|row| row.0), pick(|row| row.1), pick(|row| row.2))
        };
        let (again, acks) = (columns(again), columns(acks));
        let again = Reached { of: &again.0, t_ns: &again.1, highest: &again.2 };
        let acks = Reached { of: &acks.0, t_ns: &acks.1, highest: &acks.2 };
        recoveries(again, acks).iter().map(|one| (one.of, one.begin_ns, one.end_ns)).collect()
    }

    #[test]
    fn a_recovery_ends_with_the_ack_of_all_before_it() {
        let again = [(0, 10, 500), (0, 12, 500), (0, 30, 900)];
        assert_eq!(found(&again, &[(0, 11, 300), (0, 20, 500), (0, 40, 900)]), [(0, 10, 20), (0, 30, 40)]);
    }

    #[test]
    fn each_sender_has_its_own_acks() {
        let again = [(0, 10, 500), (2, 5, 100), (2, 7, 100)];
        let acks = [(0, 9, 400), (1, 1, 900), (2, 6, 100)];
        assert_eq!(found(&again, &acks), [(0, 10, i64::MAX), (2, 5, 6), (2, 7, 8)]);
    }

    #[test]
    fn one_that_was_acknowledged_before_is_short() {
        assert_eq!(found(&[(0, 10, 100)], &[(0, 9, 100)]), [(0, 10, 11)]);
    }
}
