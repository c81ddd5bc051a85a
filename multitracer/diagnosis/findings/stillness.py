"""A path that stood still, as one capture shows it: no ACK came for long, and nothing had been lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command, seconds
from multitracer.layers.tcp.bottleneck import STILL_NS
from multitracer.layers.tcp.transit import data_at, valid_acks
from multitracer.layers.vantage import vantage
from multitracer.model.lazy import np
from multitracer.model.timeline import Connection, Timeline

Summary = dict[str, Any]

_FACTOR = 3
_SEGMENTS = (
    2  # a receiver acknowledges two segments at once (RFC 5681, section 4.2): it does not wait for more
)


def standstills(m: Timeline, entries: Sequence[Summary], timeouts: Sequence[Summary]) -> Finding | None:
    """Times in which the path, or the receiver's host, stood still; None if none is seen.

    Two segments and more were in flight for longer than the base RTT, no ACK came for 200 ms and three times
    the usual distance of ACKs, and the first one after it came for data that had not been retransmitted, or
    needlessly: the packets had waited, and were not lost. A capture at the receiver does not show what is in
    flight. Of losses the same silence may be a part: then nothing is said here.

    Parameters
    ----------
    m : Timeline
        With segments.
    entries : sequence of dict
        Of ``connections`` (docs/json.md).
    timeouts : sequence of dict
        As in the result of `timeouts`.

    References
    ----------
    Gurtov and Ludwig, *Responding to spurious timeouts in TCP* (INFOCOM 2003): delay spikes.
    """
    known = {one.index: one for one in m.connections}
    found: list[tuple[float, float, str, int]] = []
    for entry in entries:
        connection = known.get(entry["index"])
        point = (entry.get("observation") or entry).get("point")
        if connection is None or point == "rcv" or not entry["rtt_ms"]:
            continue
        flow = (entry["index"], entry["data_direction"])
        mine = [one for one in timeouts if (one["conn"], one["direction"]) == flow]
        found += _of(m, connection, entry, mine)
    if not found:
        return None
    longest = max(found, key=lambda one: one[1] - one[0])
    total_s, longest_s = sum(end - start for start, end, *_ in found), longest[1] - longest[0]
    times = "" if len(found) == 1 else f", {len(found):,} times, at most {seconds(longest_s)} at once"
    text = (
        f"the path, or the receiver's host, stalled for {seconds(total_s)}{times}: data was in flight, "
        "no ACK came, and then one for all that waited; as far as this capture shows, nothing was lost in it"
    )
    evidence = tuple((path, record) for _, _, path, record in found[:MOST_EVIDENCE])
    return Finding(text, 0.0, "standstill", plot_command(m, longest[0], longest[1]), evidence)


def _of(
    m: Timeline, connection: Connection, entry: Summary, timeouts: Sequence[Summary]
) -> list[tuple[float, float, str, int]]:
    """Start and end in seconds, and the packet that ended it, of each standstill of a connection."""
    source = vantage(m, connection)
    data = data_at(m, connection, source)
    data = data.where(data["length"] > 0)
    acks = valid_acks(m, connection, source)
    if len(data) < 3 or len(acks) < 3:
        return []
    acked = np.maximum.accumulate(acks["ack"])
    ends = np.maximum.accumulate(data["seq"] + data["length"])
    base_ns = int(entry["rtt_ms"]["min"] * 1e6)
    # What was not acknowledged yet: the second segment of it had been in flight for a base RTT from then on.
    oldest = np.searchsorted(ends, acked[:-1], side="right") + _SEGMENTS - 1
    never = np.iinfo(np.int64).max // 2
    since = np.append(data["t_ns"], never)[np.minimum(oldest, len(data))] + base_ns
    begin, end = np.maximum(acks["t_ns"][:-1], since), acks["t_ns"][1:]
    usual = int(np.median(np.diff(acks["t_ns"])))
    long = end - begin > max(STILL_NS, _FACTOR * usual, _FACTOR * base_ns)
    # A window that is closed holds nothing in flight that an ACK would be due for.
    long &= (acked[1:] > acked[:-1]) & (acks["window"][:-1] != 0)
    # What fills a gap was sent again, too: its first copy was lost before it came to this capture.
    late = data["seq"] < np.concatenate([[0], ends[:-1]])
    again = data.where((data["duplicate"] > 0) | late)
    found = []
    for at in np.flatnonzero(long).tolist():
        start_ns, end_ns = int(begin[at]), int(end[at])
        first, last = int(acked[at]), int(acked[at + 1])
        repeated = (again["seq"] < last) & (again["seq"] + again["length"] > first)
        repeated &= again["t_ns"] <= end_ns
        start, stop = m.seconds(start_ns), m.seconds(end_ns)
        fired = [one for one in timeouts if start <= one["t"] <= stop]
        needless = bool(fired) and all(one["verdict"] == "spurious" for one in fired)
        if repeated.any() and not needless:
            continue
        found.append((start, stop, m.sources[source].path, int(acks["record"][at + 1])))
    return found
