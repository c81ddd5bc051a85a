//! What a connection's entry says of its path: `rtt`, `limits`, `bottleneck`, `observation` (docs/json.md).

use super::number::{push_int, push_rounded};
use crate::tracker::{Bottleneck, Connection, Half, Limit, Limits, Observation, PathReport, RoundTrip};

/// The four as members of an object, their lines three steps inside, without a comma before or behind.
pub fn push_path(out: &mut String, connection: &Connection, direction: usize) {
    let found = PathReport::of(connection, direction);
    out.push_str("\"rtt\": ");
    or_null(out, found.round_trip.as_ref(), push_round_trip);
    out.push_str(",\n      \"limits\": ");
    or_null(out, found.limits.as_ref(), push_limits);
    out.push_str(",\n      \"bottleneck\": ");
    or_null(out, found.bottleneck.as_ref(), push_bottleneck);
    out.push_str(",\n      \"observation\": ");
    push_observation(out, &found.observation);
}

/// The four as an object of their own.
pub fn path_object(connection: &Connection, direction: usize) -> String {
    let mut out = String::with_capacity(2048);
    out.push('{');
    push_path(&mut out, connection, direction);
    out.push('}');
    out
}

/// A value as `push` writes it, or that there is none.
pub(super) fn or_null<T>(out: &mut String, value: Option<T>, push: impl FnOnce(&mut String, T)) {
    match value {
        Some(value) => push(out, value),
        None => out.push_str("null"),
    }
}

fn push_ms(out: &mut String, ns: Option<f64>) {
    or_null(out, ns, |out, ns| push_rounded(out, ns / 1e6, 3));
}

fn push_round_trip(out: &mut String, found: &RoundTrip) {
    out.push_str("{\n        \"method\": ");
    let methods = [
        (found.toward_receiver.samples > 0, "ack"),
        (found.by_answer, "answer"),
        (found.by_echo, "timestamp"),
    ];
    push_words(out, "        ", methods.into_iter().filter(|(is, _)| *is).map(|(_, name)| name));
    out.push_str(",\n        \"toward_receiver\": ");
    push_half(out, &found.toward_receiver);
    out.push_str(",\n        \"toward_sender\": ");
    push_half(out, &found.toward_sender);
    out.push_str(",\n        \"timed_share\": ");
    or_null(out, found.timed_share, |out, share| push_rounded(out, share, 6));
    out.push_str(",\n        \"base_ms\": ");
    push_ms(out, found.base_ns.map(|ns| ns as f64));
    out.push_str(",\n        \"base_at_most\": ");
    out.push_str(if found.base_at_most { "true" } else { "false" });
    out.push_str(",\n        \"delayed_acks\": ");
    push_int(out, i64::from(found.delayed_acks));
    out.push_str(",\n        \"without_own_queue\": ");
    out.push_str(if found.without_own_queue { "true" } else { "false" });
    out.push_str(",\n        \"median_ms\": ");
    push_ms(out, found.median_ns);
    out.push_str(",\n        \"p95_ms\": ");
    push_ms(out, found.p95_ns);
    out.push_str("\n      }");
}

fn push_half(out: &mut String, half: &Half) {
    out.push_str("{\n          \"min_ms\": ");
    push_ms(out, half.min_ns.map(|ns| ns as f64));
    out.push_str(",\n          \"median_ms\": ");
    push_ms(out, half.median_ns);
    out.push_str(",\n          \"p95_ms\": ");
    push_ms(out, half.p95_ns);
    out.push_str(",\n          \"samples\": ");
    push_int(out, i64::from(half.samples));
    out.push_str(",\n          \"bound_ms\": ");
    or_null(out, half.bound_ns, |out, (low_ns, high_ns)| {
        out.push_str("[\n            ");
        push_ms(out, Some(low_ns as f64));
        out.push_str(",\n            ");
        push_ms(out, Some(high_ns as f64));
        out.push_str("\n          ]");
    });
    out.push_str("\n        }");
}

fn push_limits(out: &mut String, limits: &Limits) {
    out.push('{');
    for (name, share) in Limit::NAMES.into_iter().zip(limits.shares()) {
        out.push_str("\n        \"");
        out.push_str(name);
        out.push_str("\": ");
        push_rounded(out, share, 6);
        out.push(',');
    }
    out.push_str("\n        \"seconds\": ");
    push_rounded(out, limits.total_ns() / 1e9, 6);
    for (name, ns) in [
        (",\n        \"application_nagle\": ", limits.nagle_ns),
        (",\n        \"application_behind\": ", limits.behind_ns),
        (",\n        \"congestion_window_before_loss\": ", limits.before_loss_ns),
        (",\n        \"congestion_window_after_data\": ", limits.after_data_ns),
        (",\n        \"congestion_window_paced\": ", limits.unprompted_ns),
        (",\n        \"loss_recovery_before_data\": ", limits.before_data_ns),
        (",\n        \"loss_recovery_silent\": ", limits.silent_ns),
        (",\n        \"receiver_window_in_recovery\": ", limits.window_in_recovery_ns),
        (",\n        \"receiver_window_paced\": ", limits.window_paced_ns),
    ] {
        out.push_str(name);
        push_rounded(out, ns / limits.total_ns(), 6);
    }
    out.push_str(",\n        \"seconds_before_data\": ");
    push_rounded(out, limits.until_data_ns / 1e9, 6);
    out.push_str(",\n        \"writes_bps\": ");
    or_null(out, limits.writes_bytes_per_s, |out, rate| push_rounded(out, rate * 8.0, 3));
    out.push_str(",\n        \"method\": \"inferred\"\n      }");
}

fn push_bottleneck(out: &mut String, found: &Bottleneck) {
    out.push_str("{\n        \"rate_bps\": ");
    or_null(out, found.rate_bps, |out, rate| push_rounded(out, rate, 3));
    out.push_str(",\n        \"rates_bps\": ");
    or_null(out, found.rates_bps, |out, [slow, fast]| {
        out.push_str("[\n          ");
        push_rounded(out, slow, 3);
        out.push_str(",\n          ");
        push_rounded(out, fast, 3);
        out.push_str("\n        ]");
    });
    out.push_str(",\n        \"rate_exact\": ");
    out.push_str(if found.rate_exact { "true" } else { "false" });
    out.push_str(",\n        \"full_share\": ");
    or_null(out, found.full_share, |out, share| push_rounded(out, share, 6));
    out.push_str(",\n        \"standing_queue_ms\": ");
    or_null(out, found.standing_queue_ns, |out, (median, p95)| {
        out.push_str("{\n          \"median\": ");
        push_ms(out, Some(median));
        out.push_str(",\n          \"p95\": ");
        push_ms(out, Some(p95));
        out.push_str("\n        }");
    });
    out.push_str(",\n        \"acks_share\": ");
    or_null(out, found.acks_share, |out, share| push_rounded(out, share, 6));
    out.push_str(",\n        \"data_share\": ");
    or_null(out, found.data_share, |out, share| push_rounded(out, share, 6));
    out.push_str(",\n        \"base_rtt_ms\": ");
    push_ms(out, found.base_ns.map(|ns| ns as f64));
    out.push_str(",\n        \"full_base_rtt_ms\": ");
    push_ms(out, found.full_base_ns);
    out.push_str(",\n        \"shared_with\": ");
    or_null(out, found.shared_with, |out, others| push_int(out, i64::from(others)));
    out.push_str(",\n        \"evidence\": ");
    let signs = [
        (found.by_queue, "queue"),
        (found.by_rate, "constant_rate"),
        (found.shared_with.is_some_and(|others| others > 0) && !found.by_sum, "queues_move_together"),
        (found.by_sum, "constant_sum"),
    ];
    push_words(out, "        ", signs.into_iter().filter(|(is, _)| *is).map(|(_, sign)| sign));
    out.push_str("\n      }");
}

fn push_observation(out: &mut String, found: &Observation) {
    out.push_str("{\n        \"point\": ");
    or_null(out, found.point, |out, point| {
        out.push('"');
        out.push_str(point.name());
        out.push('"');
    });
    out.push_str(",\n        \"grade\": ");
    or_null(out, found.point, |out, _| {
        out.push('"');
        out.push_str(found.grade.name());
        out.push('"');
    });
    let evidence = &found.evidence;
    out.push_str(",\n        \"evidence\": {\n          \"hops_from_sender\": ");
    or_null(out, evidence.hops[0], |out, hops| push_int(out, i64::from(hops)));
    out.push_str(",\n          \"hops_from_receiver\": ");
    or_null(out, evidence.hops[1], |out, hops| push_int(out, i64::from(hops)));
    for (key, is) in [
        (",\n          \"sender_offloads_checksums\": ", evidence.offloaded[0]),
        (",\n          \"receiver_offloads_checksums\": ", evidence.offloaded[1]),
        (",\n          \"segments_above_mss\": ", evidence.large_segments),
    ] {
        out.push_str(key);
        out.push_str(if is { "true" } else { "false" });
    }
    out.push_str(",\n          \"toward_receiver_ms\": ");
    push_ms(out, evidence.halves_ns[0].map(|ns| ns as f64));
    out.push_str(",\n          \"toward_sender_ms\": ");
    push_ms(out, evidence.halves_ns[1].map(|ns| ns as f64));
    out.push_str("\n        }\n      }");
}

/// A list of words as Python's `json.dumps(indent=2)` prints it, its own line `inside` far.
fn push_words<'a>(out: &mut String, inside: &str, words: impl Iterator<Item = &'a str>) {
    let mut empty = true;
    for word in words {
        out.push_str(if empty { "[\n" } else { ",\n" });
        empty = false;
        for text in [inside, "  \"", word, "\""] {
            out.push_str(text);
        }
    }
    if empty {
        out.push_str("[]");
    } else {
        for text in ["\n", inside, "]"] {
            out.push_str(text);
        }
    }
}
