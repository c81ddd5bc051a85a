//! An entry of `connections` (docs/json.md), from what the tracker knows of one connection in one capture.
//!
//! The text is the one that the package puts together from the summary as a dictionary, byte for byte: of hundreds of
//! thousands of connections, that way costs fifty times as much. A test compares both.

use super::number::{push_int, push_rounded};
use super::path::{or_null, push_path};
use super::string::push_string;
use crate::summary::{
    Closed, RoundTrips, Unfinished, acks_lost, losses, needless, never_passed, possible, refused, reset_by,
    reset_ttl, retransmissions, syn_timeouts, unacked_timeouts, window_scaling,
};
use crate::tracker::{
    ArrivalVerdict, CAUSES, Cause, Closures, Connection, ConnectionStore, Endpoint, Sender, Waits,
};
use std::fmt::Write;

/// What an entry says that is not of its connection.
#[derive(Debug, Clone)]
pub struct EntryContext {
    /// The path of the capture as JSON.
    pub source: String,
    /// Its observation point as JSON.
    pub point: String,
    /// Zero of all times.
    pub t0_ns: i64,
}

/// Bytes that an entry takes, so that the text is rarely moved as it grows.
const USUAL: usize = 2048;

/// In the order of the contract, with the place of the count.
const CAUSE_KEYS: [(&str, Cause); CAUSES - 1] = [
    (",\n        \"timeout\": ", Cause::Timeout),
    (",\n        \"fast\": ", Cause::Fast),
    (",\n        \"slow_start\": ", Cause::SlowStart),
    (",\n        \"tail_loss_probe\": ", Cause::TailLossProbe),
    (",\n        \"unneeded_probe\": ", Cause::UnneededProbe),
    (",\n        \"unknown\": ", Cause::Unknown),
    (",\n        \"handshake\": ", Cause::Handshake),
];
const ARRIVAL_KEYS: [(&str, ArrivalVerdict); 4] = [
    (",\n        \"retransmission\": ", ArrivalVerdict::Retransmission),
    (",\n        \"reordered\": ", ArrivalVerdict::Reordered),
    (",\n        \"network_duplicate\": ", ArrivalVerdict::NetworkDuplicate),
    (",\n        \"undecided\": ", ArrivalVerdict::Undecided),
];
const NO_RETRANSMISSIONS: &str = "{\n        \"total\": 0,\n        \"timeout\": 0,\n        \"fast\": 0,\
    \n        \"slow_start\": 0,\n        \"tail_loss_probe\": 0,\n        \"unneeded_probe\": 0,\
    \n        \"unknown\": 0,\n        \"handshake\": 0,\n        \"inferred\": 0,\n        \"unseen\": 0,\
    \n        \"fast_or_slow_start\": 0,\n        \"probe_or_timeout\": 0\n      }";
const NO_TIMEOUTS: &str = "{\n        \"total\": 0,\n        \"spurious\": 0,\n        \"genuine\": 0,\n        \"inconclusive\": 0\n      }";
const NO_BYTES: &str = "{\n        \"sent\": 0,\n        \"unique\": 0,\n        \"duplicate\": 0,\n        \"acked\": 0\n      }";

/// Entries in order, from number `first`, so many at most; each but number 0 has a comma before it.
pub fn connection_entries(
    connections: &ConnectionStore,
    first: usize,
    count: usize,
    context: &EntryContext,
) -> String {
    let last = first.saturating_add(count).min(connections.len());
    let mut out = String::with_capacity(last.saturating_sub(first) * USUAL);
    connections.each(first..last, |number, connection| {
        out.push_str(if number == 0 { "\n    " } else { ",\n    " });
        push_connection(&mut out, number, connection, context);
    });
    out
}

/// One entry; its lines after the first are two steps inside.
pub fn push_connection(out: &mut String, index: usize, connection: &Connection, context: &EntryContext) {
    let direction = connection.data_direction();
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    let (sent, back) = (data.totals(), acks.totals());

    out.push_str("{\n      \"index\": ");
    push_int(out, index as i64);
    out.push_str(",\n      \"endpoints\": [\n        \"");
    push_endpoint(out, connection.endpoints[0]);
    out.push_str("\",\n        \"");
    push_endpoint(out, connection.endpoints[1]);
    out.push_str("\"\n      ],\n      \"data_direction\": ");
    out.push_str(if direction == 1 { "\"reverse\"" } else { "\"forward\"" });
    out.push_str(",\n      \"source\": ");
    out.push_str(&context.source);
    out.push_str(",\n      \"point\": ");
    out.push_str(&context.point);
    // In the order of first packets, as Wireshark counts.
    out.push_str(",\n      \"stream\": ");
    push_int(out, index as i64);
    out.push_str(",\n      \"start\": ");
    push_seconds(out, connection.first_ns, context);
    out.push_str(",\n      \"end\": ");
    push_seconds(out, connection.last_ns, context);
    out.push_str(",\n      \"handshake\": ");
    push_flag(out, connection.handshake());
    out.push_str(",\n      \"closed\": ");
    push_string(out, Closed::of(connection).name());
    out.push_str(",\n      \"reset_by\": ");
    or_null(out, reset_by(connection, direction), push_string);
    out.push_str(",\n      \"reset_ttl\": ");
    or_null(out, reset_ttl(connection, direction), |out, [usual, reset]| {
        let _ = write!(out, "{{\n        \"usual\": {usual},\n        \"reset\": {reset}\n      }}");
    });
    out.push_str(",\n      \"packets\": {\n        \"sent\": ");
    push_int(out, sent.segments as i64);
    out.push_str(",\n        \"data\": ");
    push_int(out, sent.data_segments as i64);
    out.push_str(",\n        \"received\": ");
    push_int(out, back.segments as i64);
    out.push_str("\n      },\n      \"bytes\": ");
    push_bytes(out, data);
    out.push_str(",\n      \"reverse_bytes\": ");
    push_bytes(out, acks);
    out.push_str(",\n      \"retransmissions\": ");
    push_retransmissions(out, connection, direction);
    out.push_str(",\n      \"reverse_retransmissions\": ");
    push_retransmissions(out, connection, 1 - direction);
    push_arrivals(out, connection, direction);
    out.push_str(",\n      \"timeouts\": ");
    push_timeouts(out, connection, direction);
    out.push_str(",\n      \"syn_timeouts\": ");
    push_int(out, syn_timeouts(connection) as i64);
    out.push_str(",\n      \"unacked_timeouts\": ");
    push_int(out, unacked_timeouts(connection) as i64);
    out.push_str(",\n      \"loss_records\": ");
    push_records(out, &data.loss_records(), "\n        ", "\n      ]");
    push_unfinished(out, connection, direction, context);
    out.push_str(",\n      \"rtt_ms\": ");
    push_round_trips(out, data);
    out.push_str(",\n      \"data_s\": ");
    match data.data_ns() {
        Some(span_ns) => push_rounded(out, span_ns as f64 / 1e9, 6),
        None => out.push_str("null"),
    }
    out.push_str(",\n      \"throughput_bps\": ");
    // What is acknowledged passed, captured or not.
    let acked_bytes = data.acked_bytes() + data.unseen_bytes();
    push_rate(out, data, sent.data_bytes.max(acked_bytes.unsigned_abs()) as f64);
    out.push_str(",\n      \"goodput_bps\": ");
    push_rate(out, data, acked_bytes as f64);
    for (key, count) in [
        (",\n      \"duplicate_acks\": ", sent.duplicate_acks),
        (",\n      \"needless_retransmissions\": ", needless(connection, direction)),
        (",\n      \"duplicates_reported\": ", data.needless()),
        (",\n      \"out_of_order\": ", sent.out_of_order),
        (",\n      \"damaged_segments\": ", u64::from(sent.corrupted)),
        (",\n      \"probe_segments\": ", sent.probe_segments),
        (",\n      \"zero_windows\": ", back.zero_windows),
    ] {
        out.push_str(key);
        push_int(out, count as i64);
    }
    push_marks(out, [u64::from(sent.ce), u64::from(back.ece), u64::from(sent.cwr)]);
    push_closures(out, acks.closures());
    push_exchanges(out, connection.exchanges(direction), direction);
    out.push_str(",\n      \"standstills\": null,\n      \"policer\": null,\n      \"queue_at_losses\": null,\n      \"restarts\": null");
    let (_, _, sack, timestamps) = data.options();
    let (_, _, other_sack, other_timestamps) = acks.options();
    out.push_str(",\n      \"mss\": ");
    match data.agreed_mss() {
        Some(mss) => push_int(out, i64::from(mss)),
        None => out.push_str("null"),
    }
    out.push_str(",\n      \"sack\": ");
    push_flag(out, sack && other_sack);
    out.push_str(",\n      \"timestamps\": ");
    push_flag(out, timestamps && other_timestamps);
    out.push_str(",\n      \"window_scaling\": ");
    or_null(out, window_scaling(connection), push_string);
    out.push_str(",\n      \"max_flight_bytes\": ");
    push_int(out, sent.max_flight);
    out.push_str(",\n      \"max_window_bytes\": ");
    push_int(out, back.max_window);
    out.push_str(",\n      ");
    push_path(out, connection, direction);
    out.push_str("\n    }");
}

fn push_flag(out: &mut String, flag: bool) {
    out.push_str(if flag { "true" } else { "false" });
}

/// `address:port`, an IPv6 address in brackets.
fn push_endpoint(out: &mut String, (address, port): Endpoint) {
    match address.to_ip() {
        std::net::IpAddr::V4(v4) => {
            for (place, octet) in v4.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push('.');
                }
                push_int(out, i64::from(octet));
            }
        }
        // Writing to a string does not fail.
        std::net::IpAddr::V6(v6) => drop(write!(out, "[{v6}]")),
    }
    out.push(':');
    push_int(out, i64::from(port));
}

fn push_seconds(out: &mut String, t_ns: i64, context: &EntryContext) {
    let since_ns = i128::from(t_ns) - i128::from(context.t0_ns);
    push_rounded(out, since_ns as f64 / 1e9, 9);
}

fn push_bytes(out: &mut String, sender: &Sender) {
    let totals = sender.totals();
    let (unique, acked) = (sender.unique_bytes(), sender.acked_bytes());
    if totals.data_bytes == 0 && totals.duplicate_bytes == 0 && unique == 0 && acked == 0 {
        out.push_str(NO_BYTES);
        return;
    }
    out.push_str("{\n        \"sent\": ");
    push_int(out, totals.data_bytes as i64);
    out.push_str(",\n        \"unique\": ");
    push_int(out, unique);
    out.push_str(",\n        \"duplicate\": ");
    push_int(out, totals.duplicate_bytes as i64);
    out.push_str(",\n        \"acked\": ");
    push_int(out, acked);
    out.push_str("\n      }");
}

fn push_retransmissions(out: &mut String, connection: &Connection, direction: usize) {
    let sender = connection.senders_at(direction);
    let counts = sender.retransmission_counts();
    if counts.iter().skip(1).all(|count| *count == 0) {
        out.push_str(NO_RETRANSMISSIONS);
        return;
    }
    out.push_str("{\n        \"total\": ");
    push_int(out, retransmissions(&counts) as i64);
    for (key, cause) in CAUSE_KEYS {
        out.push_str(key);
        push_int(out, counts[cause as usize] as i64);
    }
    out.push_str(",\n        \"inferred\": ");
    push_int(out, sender.arrival_counts().inferred.iter().sum::<u64>() as i64);
    out.push_str(",\n        \"unseen\": ");
    push_int(out, never_passed(connection, direction) as i64);
    let (probe_or_timeout, fast_or_slow_start) = sender.undecided();
    out.push_str(",\n        \"fast_or_slow_start\": ");
    push_int(out, fast_or_slow_start as i64);
    out.push_str(",\n        \"probe_or_timeout\": ");
    push_int(out, probe_or_timeout as i64);
    out.push_str("\n      }");
}

/// What came below the highest byte seen, and on which side of this point segments were lost.
fn push_arrivals(out: &mut String, connection: &Connection, direction: usize) {
    let counts = connection.senders_at(direction).arrival_counts();
    let [upstream, downstream] = losses(connection, direction);
    out.push_str(",\n      \"arrivals\": {\n        \"out_of_order\": ");
    push_int(out, counts.out_of_order() as i64);
    for (key, verdict) in ARRIVAL_KEYS {
        out.push_str(key);
        push_int(out, counts.verdicts[verdict as usize] as i64);
    }
    out.push_str("\n      },\n      \"losses\": {\n        \"upstream\": ");
    push_int(out, upstream as i64);
    out.push_str(",\n        \"downstream\": ");
    push_int(out, downstream as i64);
    out.push_str(",\n        \"acks\": ");
    match acks_lost(connection, direction) {
        Some(acks) => push_int(out, acks as i64),
        None => out.push_str("null"),
    }
    out.push_str(",\n        \"refused\": ");
    push_int(out, refused(connection, direction) as i64);
    out.push_str(",\n        \"possible\": ");
    push_int(out, possible(connection, direction) as i64);
    out.push_str(",\n        \"merged\": ");
    push_int(out, connection.senders_at(direction).merged() as i64);
    out.push_str("\n      }");
}

fn push_timeouts(out: &mut String, connection: &Connection, direction: usize) {
    let timeouts = connection.senders_at(direction).timeouts();
    if timeouts.is_empty() {
        out.push_str(NO_TIMEOUTS);
        return;
    }
    out.push_str("{\n        \"total\": ");
    push_int(out, timeouts.len() as i64);
    let keys = [",\n        \"spurious\": ", ",\n        \"genuine\": ", ",\n        \"inconclusive\": "];
    for (key, count) in keys.into_iter().zip(connection.timeout_verdicts(direction)) {
        out.push_str(key);
        push_int(out, count as i64);
    }
    out.push_str("\n      }");
}

/// A list of packet numbers; each begins with one text, and behind the last comes another.
fn push_records(out: &mut String, records: &[u64], begin: &str, end: &str) {
    out.push('[');
    for (place, record) in records.iter().enumerate() {
        out.push_str(if place == 0 { "" } else { "," });
        out.push_str(begin);
        push_int(out, *record as i64);
    }
    out.push_str(if records.is_empty() { "]" } else { end });
}

/// What shows that it broke off.
fn push_unfinished(out: &mut String, connection: &Connection, direction: usize, context: &EntryContext) {
    out.push_str(",\n      \"unfinished\": ");
    let Some(found) = Unfinished::of(connection, direction) else { return out.push_str("null") };
    out.push_str("{\n        \"timeouts\": ");
    push_int(out, found.timeouts as i64);
    let ends = [",\n        \"first\": ", ",\n        \"last\": "];
    for (key, t_ns) in
        ends.into_iter().zip(found.span_ns.map_or([None; 2], |(first, last)| [Some(first), Some(last)]))
    {
        out.push_str(key);
        match t_ns {
            Some(t_ns) => push_seconds(out, t_ns, context),
            None => out.push_str("null"),
        }
    }
    out.push_str(",\n        \"records\": ");
    push_records(out, &found.records, "\n          ", "\n        ]");
    out.push_str(",\n        \"reset\": ");
    push_flag(out, found.reset);
    out.push_str(",\n        \"waited_s\": ");
    match found.waited_ns {
        Some(waited_ns) => push_rounded(out, waited_ns as f64 / 1e9, 6),
        None => out.push_str("null"),
    }
    out.push_str("\n      }");
}

/// Segments that routers marked, ACKs that reported it, and how often the sender reduced its congestion window for it.
fn push_marks(out: &mut String, counts: [u64; 3]) {
    out.push_str(",\n      \"ecn\": {");
    for (key, count) in
        ["\n        \"ce\": ", ",\n        \"ece\": ", ",\n        \"cwr\": "].into_iter().zip(counts)
    {
        out.push_str(key);
        push_int(out, count as i64);
    }
    out.push_str("\n      }");
}

/// How often, and for how long, the receiver closed its window.
fn push_closures(out: &mut String, closures: Closures) {
    let [longest_ns, total_ns] = closures.lengths_ns();
    out.push_str(",\n      \"window_closures\": {\n        \"count\": ");
    push_int(out, i64::from(closures.count));
    out.push_str(",\n        \"longest_s\": ");
    push_rounded(out, longest_ns as f64 / 1e9, 6);
    out.push_str(",\n        \"total_s\": ");
    push_rounded(out, total_ns as f64 / 1e9, 6);
    out.push_str("\n      }");
}

fn push_exchanges(out: &mut String, waits: Option<Waits>, direction: usize) {
    out.push_str(",\n      \"exchanges\": ");
    let Some(waits) = waits else { return out.push_str("null") };
    out.push_str("{\n        \"count\": ");
    push_int(out, i64::from(waits.count));
    out.push_str(",\n        \"client_sends_data\": ");
    push_flag(out, waits.client == direction);
    out.push_str(",\n        \"request_wait_s\": ");
    push_rounded(out, waits.request_ns as f64 / 1e9, 6);
    out.push_str(",\n        \"response_wait_s\": ");
    push_rounded(out, waits.response_ns as f64 / 1e9, 6);
    out.push_str(",\n        \"requests\": ");
    push_int(out, i64::from(waits.requests));
    let [requests, responses] = [waits.client, 1 - waits.client].map(|end| waits.held[end]);
    for (counted, time, (count, ns)) in [
        (",\n        \"requests_held\": ", ",\n        \"requests_held_s\": ", requests),
        (",\n        \"responses_held\": ", ",\n        \"responses_held_s\": ", responses),
    ] {
        out.push_str(counted);
        push_int(out, i64::from(count));
        out.push_str(time);
        push_rounded(out, ns as f64 / 1e9, 6);
    }
    out.push_str("\n      }");
}

fn push_round_trips(out: &mut String, sender: &Sender) {
    let Some(rtt) = RoundTrips::of(sender) else {
        out.push_str("null");
        return;
    };
    out.push_str("{\n        \"samples\": ");
    push_int(out, rtt.samples as i64);
    for (key, value_ns) in [
        (",\n        \"min\": ", rtt.min_ns),
        (",\n        \"mean\": ", rtt.mean_ns),
        (",\n        \"max\": ", rtt.max_ns),
        (",\n        \"srtt\": ", rtt.srtt_ns),
        (",\n        \"rto\": ", rtt.rto_ns),
    ] {
        out.push_str(key);
        push_rounded(out, value_ns as f64 / 1e6, 3);
    }
    out.push_str("\n      }");
}

/// From the first data segment to the last ACK that brought anything new.
fn push_rate(out: &mut String, sender: &Sender, count_bytes: f64) {
    // One segment has no rate: its ACK is the time that the host took, or an RTT.
    match sender.data_ns().filter(|_| sender.totals().data_segments > 1) {
        Some(span_ns) => push_rounded(out, count_bytes * 8e9 / span_ns as f64, 3),
        None => out.push_str("null"),
    }
}
