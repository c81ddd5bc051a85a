//! What went before the first data: the handshake, and a first flight that never came by.

use crate::tracker::connection::Connection;
use crate::tracker::path::gaps::SILENCE_NS;
use crate::tracker::path::report::handshake_ns;
use crate::tracker::sender::Sender;

/// How long a sender had waited for its timer before its first data, of which all that it had sent before never came by, as
/// identifications left out show: dropped by its own queue, or lost before this point. 0 if nothing shows that.
pub(super) fn unseen_flight_ns(connection: &Connection, direction: usize, handshake_ns: i64) -> i64 {
    let sender = connection.senders_at(direction);
    let numbered = sender.first_left_out && sender.numbers_alone();
    let (true, Some(first_ns)) = (numbered && handshake_ns > 0, sender.totals().first_data_ns) else {
        return 0;
    };
    // Else they may be those of ACKs.
    if connection
        .senders_at(1 - direction)
        .totals()
        .first_data_ns
        .is_some_and(|other_ns| other_ns <= first_ns)
    {
        return 0;
    }
    let silent_ns = first_ns.saturating_sub(connection.first_ns.saturating_add(handshake_ns));
    if silent_ns >= SILENCE_NS { silent_ns } else { 0 }
}

/// How long the handshake held the data: its round trip, which is a whole one wherever it is seen; if that was not measured
/// (a SYN was sent again, an ACK of it was lost), all until its last ACK, or the first data. 0 if the SYNs were not seen.
pub(super) fn opening_ns(connection: &Connection, first_data_ns: i64) -> i64 {
    let [first, second] = &connection.senders;
    if first.isn.is_none() || second.isn.is_none() {
        return 0;
    }
    let until_data_ns = first_data_ns.saturating_sub(connection.first_ns).max(0);
    match handshake_ns(first, second) {
        Some(both_ns) if both_ns > 0 => both_ns.min(until_data_ns),
        _ => established_ns(second)
            .map_or(until_data_ns, |at_ns| (at_ns - connection.first_ns).clamp(0, until_data_ns)),
    }
}

/// How long its application had nothing to send before the first data of a direction, behind the handshake: it answers a
/// request. All of that, without the SYNs what the response took; 0 if it answers none.
pub(super) fn asked_ns(connection: &Connection, direction: usize, opening_ns: i64) -> i64 {
    let first_ns = connection.senders_at(direction).totals().first_data_ns;
    let (Some(first_ns), Some(wait_ns)) = (first_ns, connection.first_response_ns(direction)) else {
        return 0;
    };
    if opening_ns == 0 {
        return wait_ns;
    }
    first_ns.saturating_sub(connection.first_ns.saturating_add(opening_ns)).max(0)
}

/// How long nothing passed behind the handshake before the first data, if that is of this direction: its application wrote none,
/// or all that it sent was lost before this point. `counted_ns` of that the transfer's time has; 0 without the SYNs.
pub(super) fn until_data_ns(connection: &Connection, direction: usize, counted_ns: i64) -> i64 {
    let first = |direction: usize| connection.senders_at(direction).totals().first_data_ns;
    let opened = connection.senders.iter().all(|sender| sender.isn.is_some());
    match (first(direction), first(1 - direction)) {
        (Some(own_ns), other_ns) if opened && other_ns.is_none_or(|other_ns| own_ns <= other_ns) => {
            own_ns.saturating_sub(connection.first_ns.saturating_add(counted_ns)).max(0)
        }
        _ => 0,
    }
}

/// When the SYN of the end that was called was acknowledged, if it sent nothing else.
fn established_ns(second: &Sender) -> Option<i64> {
    second.totals().last_advance_ns.filter(|_| second.totals().data_segments == 0)
}

/// What of the `opening_ns` is that of the handshake, and what the data that answered it as the first waited longer than a host
/// withholds an ACK: the ACK of the handshake was lost before this point, and the first copy of that data.
pub(super) fn answered_by_data(
    connection: &Connection,
    direction: usize,
    (first_data_ns, opening_ns): (i64, i64),
) -> (i64, i64) {
    let sender = connection.senders_at(direction);
    let until_data_ns = first_data_ns.saturating_sub(connection.first_ns).max(0);
    let near_ns = sender.path.as_deref().and_then(|path| path.halves.near_min_ns());
    let measured = handshake_ns(sender, connection.senders_at(1 - direction)) == Some(until_data_ns);
    match near_ns.filter(|_| measured && opening_ns == until_data_ns) {
        Some(near_ns) if sender.rtt.first_ns + near_ns + WITHHELD_NS < opening_ns => {
            let both_ns = sender.rtt.first_ns + near_ns;
            (both_ns, opening_ns - both_ns)
        }
        _ => (opening_ns, 0),
    }
}

/// An ACK is withheld for less (Linux: `TCP_DELACK_MAX`).
const WITHHELD_NS: i64 = 220_000_000;
