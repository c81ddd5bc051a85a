"""Numbers of the JSON objects in words, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.receivers import part_full, waits
from multitracer.diagnosis.field.waits import window_full_in_recovery_s
from multitracer.model import quantities
from multitracer.model.idle import LAST_ACK_NAME, awaits_last_ack
from multitracer.model.quantities import duration as duration, votes as votes
from multitracer.output.digest import limit_s
from multitracer.output.observed import observed_point
from multitracer.output.rtt import (
    base_at_most,
    beside_sender,
    least_words,
    outside_recovery,
    path_rtt,
    queue_at_least,
    restrictions,
    shown_queue,
    usual_rtt,
    without_delayed,
    without_own_queue,
)

Object = Mapping[str, Any]

_SOME = 0.05
"""Share of the time from which on the bottleneck limited the sender."""


def count(number: int, thing: str) -> str:
    """``3 link resets``, ``no link resets``."""
    return quantities.count(number, thing) if number else f"no {thing}s"


def data(counts: Object, *, all_sent: bool = False, copied: int = 0, packets: Object | None = None) -> str:
    """Bytes of a connection, or of many.

    Parameters
    ----------
    counts : mapping
        ``bytes`` of an entry.
    all_sent : bool
        Whether the capture has all that the sender sent; else it has not all that was retransmitted.
    copied : int
        Segments that the network duplicated.
    packets : mapping, optional
        ``packets`` of an entry: a capture of one direction lacks the data, or its ACKs.
    """
    if packets is not None and not counts["sent"]:
        return "0 bytes" if packets["sent"] or not packets["received"] else "none captured in this direction"
    acked = "all" if counts["acked"] == counts["unique"] else f"{counts['acked']:,}"
    duplicate = f"{counts['duplicate']:,}" if counts["duplicate"] else "no"
    again = f"{duplicate} bytes {'retransmitted' if all_sent else 'passed more than once'}"
    # Copies that the network made are not the sender's: they are listed with out-of-order arrivals.
    apart = f" ({count(copied, 'network duplicate')} apart)" if copied and not all_sent else ""
    known = packets is None or packets["received"] > 0
    said = f", {acked} acknowledged" if known else "; their ACKs were not captured"
    return f"{counts['unique']:,} bytes{said}; {again}{apart}"


def reset(connection: Object, *, missing: bool) -> str:
    """Who reset a connection, and what was still unacknowledged then.

    Parameters
    ----------
    connection : mapping
        An entry of ``connections``.
    missing : bool
        Whether more was sent that was lost before the capture.
    """
    answered = connection["packets"]["received"] > 0
    left = connection["bytes"]["unique"] - connection["bytes"]["acked"] if answered else 0
    least = "at least " if missing else ""
    who = {"sender": "by the sender", "receiver": "by the receiver", "both": "by both ends"}
    by = who.get(connection.get("reset_by") or "", "by a RST")
    return f"reset {by}{f', {least}{left:,} bytes were never acknowledged' if left else ''}"


def silence(found: Object) -> str:
    """How a connection ended whose last data was long before that: `silence` of its entry."""
    after = f"{duration(found['end'] - found['start'])} after the last data or ACK"
    if found["ended_by"] is None:
        return f"open when the capture ended, {after}"
    how = "reset" if found["ended"] == "reset" else "closed"
    return f"{how} by the {found['ended_by']}, {after}"


def other_way(found: Object) -> str:
    """Data of the other direction of a connection whose ends take turns: requests, or responses."""
    return f"{ends(found)}: {data(found['bytes'])}; goodput {rate(found['goodput_bps'])}"


def ends(connection: Object) -> str:
    """Both ends, and which way the data went."""
    begin, end = connection["endpoints"]
    return f"{begin} {'->' if connection['data_direction'] == 'forward' else '<-'} {end}"


def rate(bits_per_s: float | None) -> str:
    """A data rate in the unit that suits it, and in bytes while it is slow."""
    if bits_per_s is None or bits_per_s >= 1e6:
        return quantities.rate(bits_per_s)
    return f"{quantities.rate(bits_per_s)} ({bits_per_s / 8:,.0f} bytes/s)"


SEEN_LATE = 0.1
"""Rates are of what was seen: if its first data came later by this part of that time, it is reported."""

BROKEN_OFF_S = 1.0
"""A connection that continues for longer than this without an ACK of its data is reported."""


def rates(found: Object) -> str:
    """Throughput and goodput of a connection, and the time by which both are divided."""
    sent, delivered = (rate(found[f"{key}_bps"]) for key in ("throughput", "goodput"))
    text = (
        f"throughput and goodput {sent}" if sent == delivered else f"throughput {sent}, goodput {delivered}"
    )
    if found["data_s"] is None:
        return text
    if found["packets"]["data"] == 1:
        return f"unknown: one segment, acknowledged {duration(found['data_s'])} later"
    # What was sent earlier, and lost, makes both rates smaller; by how much is unknown.
    late_s = _before_data_s(found)
    late = late_s >= SEEN_LATE * found["data_s"]
    first = f"seen ({duration(late_s)} after the handshake) " if late else ""
    over = f"over {duration(found['data_s'])} from the first data segment {first}to the last ACK"
    rest_s = found["end"] - found["start"] - found["data_s"] - _handshake_s(found)
    if found["bytes"]["acked"] < found["bytes"]["unique"] and rest_s > max(found["data_s"], BROKEN_OFF_S):
        over += f" of new data; none was acknowledged in the {duration(rest_s)} after that"
    return f"{text} of payload, {over}"


def _handshake_s(found: Object) -> float:
    """Seconds of a connection before its data."""
    return limit_s(found, "handshake")


def _before_data_s(found: Object) -> float:
    """Seconds after the handshake in which data was sent that never reached this capture."""
    return limit_s(found, "loss_recovery_before_data")


def size(count_bytes: int) -> str:
    """A number of bytes with three digits."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_bytes >= limit:
            return f"{count_bytes / limit:.3g} {unit}"
    return f"{count_bytes} B"


def rtt(found: Object) -> str:
    """RTT of a connection: of the whole path where it was measured, else of the data's side."""
    whole, samples = path_rtt(found), found["rtt_ms"]
    if whole is not None and whole.median is not None and whole.p95 is not None:
        median, p95 = (duration(ms / 1e3) for ms in (whole.median, whole.p95))
        limits = restrictions(found)
        beside = f" ({limits})" if limits else ""
        return f"{least_words(found, whole.least)}, median {median}, 95th percentile {p95}{beside}"
    if whole is not None and not beside_sender(found):
        why = "timestamps do not show them" if found["timestamps"] else "no timestamps"
        return f"{least_words(found, whole.least)}; later RTTs unknown here: {why}{_far_half(found)}"
    if samples is None:
        return "no sample"
    low, mean, high = (duration(samples[key] / 1e3) for key in ("min", "mean", "max"))
    far = "" if beside_sender(found) else " between this capture and the receiver"
    behind = without_own_queue(found)
    limits = f"; {behind}" if behind else ""
    return f"min {low}, mean {mean}, max {high} ({count(samples['samples'], 'sample')}{far}{limits})"


_AT_ONCE_MS = 1.0


def _far_half(found: Object) -> str:
    """What was measured of it: between the capture and the receiver."""
    half = found["rtt"]["toward_receiver"]
    if half["median_ms"] is None or half["p95_ms"] is None:
        return ""
    median, p95 = (duration(half[key] / 1e3) for key in ("median_ms", "p95_ms"))
    limit = without_delayed(found)
    without = f", {limit}" if limit else ""
    if observed_point(found) == "rcv":
        # A host that acknowledges at once shows nothing by that.
        after = f"after {median}, median; 95th percentile {p95}{without}"
        return f" (the receiver's host acknowledged {after})" if half["median_ms"] >= _AT_ONCE_MS else ""
    return f" (between this capture and the receiver: median {median}, 95th percentile {p95}{without})"


def rtt_cell(found: Object) -> str:
    """The same in a table."""
    usual = usual_rtt(found)
    if usual is None:
        return ""
    middle = duration(usual.ms / 1e3)
    # A column has no room for "base at most".
    least = "at most" if base_at_most(found) else usual.least_name
    return f"{least} {middle}" if usual.of == "least" else middle


_SEEN, _RESOLVED = 0.005, 0.02
_MEASURED = ("handshake", "stalled path", LAST_ACK_NAME)
"""Parts of the time from which on what is measured is shown, and what is inferred."""
_PACING = "sender's pacing"


def limits(connection: Object) -> str:
    """What limited the sender, by share of the time: ``bandwidth 93%, loss recovery 5%``.

    Time in which the path stalled is named so, as in the sentence on it: no limit of the sender explains it.
    Nor is the pace of a reader that of a link. What a sender that paces itself waited for its own clock is no
    limit of its congestion window, which had room. For how much of all the time the receiver's window had no
    room during loss recovery, or had room while the sender waited, is given in addition to the shares. What
    is inferred is not known to a hundredth of the time.
    """
    found, facts = connection.get("limits"), flow(connection)
    if not found or facts is None:
        return ""
    seconds = facts.seconds or 1.0
    shares = {name: spent_s / seconds for name, spent_s in waits(facts).items()}
    if facts.stalls_s:
        shares["stalled path"] = facts.stalled_s / seconds
    paced_share = min(facts.paced_s / seconds, shares.get("congestion_window", 0.0))
    if paced_share >= _SOME:
        shares[_PACING] = paced_share
        shares["congestion_window"] -= paced_share
    also = window_full_in_recovery_s(facts) / seconds
    most = {"congestion_window": facts.window_exactly}
    most["loss_recovery"] = "at most " if facts.recovery_at_most else ""
    # After the sender's own queue that drops, a full link of no known rate looks like a window, and a wait
    # for the timer like one for an application that keeps to no clock.
    dropped = facts.own_drops > 0 or facts.possible > 0
    names = {}
    if dropped and facts.rate_bps is None:
        names["congestion_window"] = "congestion window or full link"
    if dropped and facts.writes_bps is None and not facts.kernel:
        names["application"] = "application or timer"
    labels = {name: names.get(name, name.replace("_", " ")) for name in shares}
    parts = [
        f"{labels[name]} {most.get(name, '')}{share:.0%}"
        for name, share in sorted(shares.items(), key=lambda one: -one[1])
        if share >= (_SEEN if found["method"] != "inferred" or name in _MEASURED else _RESOLVED)
    ]
    full = f"; receiver window full during recovery: at least {also:.0%}" if also >= _SOME else ""
    # What else took of a window's time is no more of it.
    paced = min(facts.window_paced_s / seconds, shares.get("receiver_window", 0.0))
    full += f"; receiver window with room: {paced:.0%}" if paced >= _SOME else ""
    behind = min(facts.behind_s / seconds, shares.get("application", 0.0))
    full += f"; TCP behind what the application had written: at most {behind:.0%}" if behind >= _SOME else ""
    return f"{', '.join(parts)} of {duration(found['seconds'])} ({_decided_by(found, shares)}){full}"


def _decided_by(found: Object, shares: Mapping[str, float]) -> str:
    """``kernel``; with the packets where these show more of the receiver's window than its counter has."""
    counted = float(found["receiver_window"])
    if found["method"] != "kernel" or shares.get("receiver_window", 0.0) < counted + _RESOLVED:
        return str(found["method"])
    return f"kernel and packets; receiver window {counted:.0%} by the kernel alone"


def bottleneck(connection: Object) -> str:
    """Rate and queue of the bottleneck; empty where it did not limit the sender, or was never seen full."""
    found, facts = connection.get("bottleneck"), flow(connection)
    # Without a rate, what came later than the first may be jitter.
    if not found or facts is None or part_full(facts) < _SOME:
        return ""
    if facts.rates_bps is not None:
        slow, fast = map(quantities.rate, facts.rates_bps)
        parts = [f"mostly {slow} and {fast} of IP packets"]
    elif found["rate_bps"] is not None:
        about = "" if facts.rate_exact else "about "
        parts = [f"{about}{quantities.rate(found['rate_bps'])} of IP packets"]
    else:
        return ""
    queue = shown_queue(connection)
    if queue is not None:
        # What the base RTT may be too large by, the queue is more; the last packet of several waited longest.
        about = "about " if queue_at_least(connection) else ""
        median, p95 = (f"{about}{duration(queue[key] / 1e3)}" for key in ("median", "p95"))
        # Where the path stalled, the percentile may be that of packets that waited for its end.
        tail = "" if connection.get("standstills") else f", 95th percentile {p95}"
        when = outside_recovery(connection)
        # Of delays that are short compared with the path's, some are jitter, and delayed ACKs.
        what = "queueing delay" if facts.hardly_jitters else "queue and jitter"
        parts.append(f"{what} median {median}{tail}{f' ({when})' if when else ''}")
    if found["shared_with"]:
        parts.append(f"shared with {count(found['shared_with'], 'other connection')}")
    return "; ".join(parts)


def idle(phase: Object) -> str:
    """Why the link was idle in a phase; the application is not to blame for the wait for the last ACK."""
    if awaits_last_ack(phase):
        return LAST_ACK_NAME
    return str(phase["cause"]).replace("_", " ")


def timer(backoff: int, rto_s: float | None) -> str:
    """What the retransmission timer had been set to, with its backoff: ``2.86 s x4``."""
    times = f" x{2 ** min(backoff, 62):,}" if backoff else ""
    return f"unknown{times}" if rto_s is None else f"{duration(rto_s)}{times}"


def drop_times(drops: Sequence[Object], most: int) -> str:
    """``, at 1.5, 2.7 s``; of more than `most` the first and the last, ``, from 0.3 to 2.9 s``."""
    if not drops:
        return ""
    times = [f"{drop['t']:.1f}" for drop in drops]
    return f", from {times[0]} to {times[-1]} s" if len(times) > most else f", at {', '.join(times)} s"


def entity(found: Object) -> str:
    """One end of the link."""
    # Of a sender without a monitor of its own, what arrived is known.
    arrived = found.get("seen_by") == "receiver"
    parts = [
        f"{count(found['frames'], 'frame')}{' received' if arrived else ''}, "
        f"{'at least ' if arrived else ''}{found['retransmitted']:,} retransmitted"
    ]
    if found.get("rate_bytes_per_s") is not None:
        parts.append(f"{found['rate_bytes_per_s']:,.0f} bytes/s of new data, by regression")
    burst = found.get("longest_burst")
    if burst and burst["duration_ms"]:
        parts.append(f"longest retransmission burst {duration(burst['duration_ms'] / 1e3)}")
    return "; ".join(parts)


def flow_control(found: Object) -> str:
    """XOFF intervals of the data-sending entity."""
    if not found["count"]:
        return "none"
    times = quantities.count(found["count"], "time")
    text = f"{found['entity']} stopped by XOFF {times}, {found['share']:.1%} of the transfer"
    gaps, rates = found["gap_ms"], found["rate_bytes_per_s"]
    if gaps:
        text += f"; gaps of {gaps['min']:,.0f} to {gaps['max']:,.0f} ms"
    if rates["outside"] is not None:
        text += f"; {rates['outside']:,.0f} bytes/s outside of them, {rates['overall']:,.0f} overall"
    return text


def toll(reset: Object) -> str:
    """What a link reset did to TCP."""
    parts = []
    for key, thing in (
        ("segments_lost", "{} lost"),
        ("segments_discarded", "{} discarded as corrupted"),
        ("acks_lost", "{} lost in the reverse direction"),
        ("timeouts", "{} in the gap"),
    ):
        number = reset.get(key)
        if number:
            parts.append(thing.format(count(number, "timeout" if key == "timeouts" else "segment")))
    return ", ".join(parts) or "nothing"


def offset(seconds: float) -> str:
    """Offset of a clock; zero if it is the same clock."""
    if seconds == 0:
        return "0"
    if abs(seconds) >= 100:
        return f"{seconds:+,.3f} s"
    return ("-" if seconds < 0 else "+") + duration(abs(seconds))


def uncertainty(seconds: float | None) -> str:
    """Bound of a clock's error."""
    return "unknown" if seconds is None else f"±{duration(seconds)}" if seconds else "exactly"


def begin(seconds: float | None, clock: str) -> str:
    """Begin of a file: time of day, or seconds where its clock has none."""
    if seconds is None:
        return ""
    if clock == "realtime":
        try:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        except (OverflowError, ValueError, OSError):
            return f"{seconds:.0f} s"
    return f"{seconds:.3f} s"
