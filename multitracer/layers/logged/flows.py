"""Each transfer that a log reports: its rates over time, RTT, windows and retransmissions, in common terms.

Logs of sockets (table `tcp_states`) have counters and samples, logs of tests (table `series`) values by
interval: here both are the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from multitracer.layers.host.local import addresses
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.lazy import np
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_WRAP = 1 << 32
_SHORT_NS = 50_000_000
_BIN_NS = 100_000_000
"""Rows closer than the first (a row for each ACK) are taken together in steps of the second."""

_SENT = (
    ("bytes_acked", "acknowledged"),
    ("snd_una", "acknowledged"),
    ("app_written", "written by the application"),
    ("bytes_sent", "sent, retransmissions included"),
    ("snd_nxt", "sent"),
)
_RECEIVED = (("bytes_received", "received"), ("app_read", "read by the application"))
_SEQUENCE = ("snd_una", "snd_nxt", "rcv_nxt")


class Samples(NamedTuple):
    """Values of one quantity by time: ns, value, record (line or part of the file)."""

    t_ns: Array
    value: Array
    record: Array

    def __bool__(self) -> bool:
        return len(self.t_ns) > 0


class Rates(NamedTuple):
    """Throughput by interval: begin and end [ns], bytes (NaN if only a rate is logged), bit/s, record."""

    begin_ns: Array
    end_ns: Array
    size: Array
    rate_bps: Array
    record: Array

    def __bool__(self) -> bool:
        return len(self.end_ns) > 0


@dataclass
class LoggedFlow:
    """One transfer, or stream of probes, as a log reports it.

    Attributes
    ----------
    source : int
        Index of the source; of several (a file for each variable), the first.
    flow : int
        Index in the trace's `flows`; -1 if the log names no socket.
    label : str
        How the log calls it, where it holds several and names no sockets.
    conn : int
        Connection of a capture that it is; -1 without one.
    sends : bool or None
        Whether the socket that was logged sent the data; None if that is unknown.
    counted : str
        What the bytes of `rates` are.
    rates : Rates or None
    rtt : Samples or None
        Seconds; `rtt_kind`: whether smoothed by the kernel ("srtt") or of single probes ("rtt").
    min_rtt_s : float or None
        The kernel's own smallest RTT.
    cwnd, rwnd : Samples or None
        Congestion window and the peer's window, in bytes.
    cwnd_packets : Samples or None
        Where the segment size is unknown.
    retransmissions : Samples or None
        Retransmitted segments, at the end of the interval in which they were.
    bytes_retransmitted : int or None
    packets, lost_packets : Samples or None
        Of a UDP test, by interval: packets sent (at the receiver: by their sequence numbers), and lost.
    states : Table or None
        The rows of `tcp_states` behind it.
    """

    source: int
    flow: int = -1
    label: str = ""
    conn: int = -1
    sends: bool | None = None
    counted: str = ""
    rates: Rates | None = None
    rtt: Samples | None = None
    rtt_kind: str = "srtt"
    min_rtt_s: float | None = None
    cwnd: Samples | None = None
    cwnd_packets: Samples | None = None
    rwnd: Samples | None = None
    retransmissions: Samples | None = None
    bytes_retransmitted: int | None = None
    packets: Samples | None = None
    lost_packets: Samples | None = None
    states: Table | None = field(default=None, repr=False)

    @property
    def span_ns(self) -> tuple[int, int]:
        """First and last time at which anything of it is known."""
        if self.rates:
            return int(self.rates.begin_ns[0]), int(self.rates.end_ns[-1])
        times = [one.t_ns for one in (self.rtt, self.cwnd, self.cwnd_packets, self.retransmissions) if one]
        return min(int(t[0]) for t in times), max(int(t[-1]) for t in times)


def logged_flows(m: Timeline) -> list[LoggedFlow]:
    """All transfers in logs, in order of source and socket; found once."""
    return m.once("logged_flows", lambda: [*_of_states(m), *_of_series(m)])


def uncaptured(m: Timeline) -> list[LoggedFlow]:
    """Those of `logged_flows` that no capture holds: of the others, captures and log together are the answer.

    With captures only logs with sockets count: values without a socket belong to no known connection. Sockets
    of other hosts do not: where a host was recorded, its kernel's log has those of all network namespaces.
    """
    found = [one for one in logged_flows(m) if one.conn < 0]
    if m.connections:
        found = [one for one in found if one.states is not None]
    return [one for one in found if not _of_another_host(m, one)]


def _of_another_host(m: Timeline, found: LoggedFlow) -> bool:
    own = addresses(m.settings, m.sources[found.source].path)
    if not own or not 0 <= found.flow < len(m.traces[found.source].flows):
        return False
    return m.traces[found.source].flows[found.flow].local_address not in own


def _of_states(m: Timeline) -> Iterator[LoggedFlow]:
    table = m.table("tcp_states")
    if not len(table):
        return
    keys = table["source"].astype(np.int64) << 32 | table["flow"].astype(np.int64) & (_WRAP - 1)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for begin, end in zip(edges.tolist(), [*edges[1:].tolist(), len(order)], strict=True):
        rows = table.where(order[begin:end]).sorted_by("t_ns")
        found = _socket(m, rows)
        if found is not None:
            yield found


def _socket(m: Timeline, rows: Table) -> LoggedFlow | None:
    source, flow = int(rows["source"][0]), int(rows["flow"][0])
    details = m.sources[source].details
    found = LoggedFlow(source, flow, conn=int(rows["conn"].max()), states=rows)
    known = {
        name: Samples(rows["t_ns"][at], rows[name][at].astype(np.float64), rows["record"][at])
        for name in rows
        if name not in ("t_ns", "source", "record", "conn", "dir", "flow", "trigger")
        for at in (np.flatnonzero(rows[name] >= 0),)
        if len(at)
    }
    begin_ns = _began(m, source, flow)
    directions = {}
    for sends, columns in ((True, _SENT), (False, _RECEIVED)):
        for name, words in columns:
            if name in known:
                start = None
                if begin_ns is not None and name in ("app_written", "app_read"):
                    kind = "writing" if name == "app_written" else "reading"
                    start = (begin_ns, float(details.get(f"bytes_before_{kind}") or 0))
                rates = _of_counter(known[name], name in _SEQUENCE, start)
                if rates:
                    directions[sends] = (float(np.nansum(rates.size)), words, rates)
                    break
    if directions:
        found.sends = max(directions, key=lambda sends: (directions[sends][0], sends))
        _, found.counted, found.rates = directions[found.sends]
    if "srtt_ns" in known:
        found.rtt = _measured(_scaled(known["srtt_ns"], 1e-9))
    if "min_rtt_ns" in known:
        smallest = _measured(known["min_rtt_ns"])
        found.min_rtt_s = float(smallest.value.min()) / 1e9 if smallest else None
    if "cwnd" in known:
        found.cwnd_packets = known["cwnd"]
        both = (rows["cwnd"] >= 0) & (rows["mss"] > 0)
        if both.any():
            size = rows["cwnd"][both].astype(np.float64) * rows["mss"][both]
            found.cwnd = Samples(rows["t_ns"][both], size, rows["record"][both])
    found.rwnd = known.get("snd_wnd")
    if "retrans_total" in known:
        start = None if begin_ns is None else (begin_ns, 0.0)
        found.retransmissions = _increments(known["retrans_total"], start)
    if "bytes_retrans" in known:
        found.bytes_retransmitted = int(known["bytes_retrans"].value[-1])
    if found.sends is False:
        # The receiving socket's own window and retransmissions do not concern the data.
        found.cwnd = found.cwnd_packets = found.rwnd = found.retransmissions = None
        found.bytes_retransmitted = None
    if found.rates or found.rtt or found.cwnd_packets or found.retransmissions:
        return found
    return None


def _on_timeline(m: Timeline, source: int, t_ns: int) -> int:
    """A time on a source's own clock as the timeline has it."""
    clock = next((one for one in m.clocks if one.source == source), None)
    first = m.sources[source].first_ns
    if clock is None or first is None:
        return t_ns
    return round(t_ns + clock.offset_ns + (t_ns - first) * clock.skew_ppm / 1e6)


def _began(m: Timeline, source: int, flow: int) -> int | None:
    """When the test of a socket began, where the format records it: its counters were at their base then."""
    starts = m.sources[source].details.get("stream_starts_ns")
    if not isinstance(starts, list) or not 0 <= flow < len(starts) or not isinstance(starts[flow], int):
        return None
    return _on_timeline(m, source, starts[flow])


def _measured(found: Samples) -> Samples | None:
    """RTTs: 0 is none that was measured."""
    good = found.value > 0
    return Samples(found.t_ns[good], found.value[good], found.record[good]) if good.any() else None


def _scaled(found: Samples, factor: float) -> Samples:
    return Samples(found.t_ns, found.value * factor, found.record)


def _of_counter(found: Samples, wraps: bool, start: tuple[int, float] | None) -> Rates | None:
    """Intervals between the values of a counter; a counter that goes back began anew.

    Parameters
    ----------
    found : Samples
    wraps : bool
        A sequence number of 32 bits: a step is the smaller one modulo 2^32 (RFC 9293 3.4).
    start : (int, float), optional
        When the counter was first at its base, and the base.
    """
    t_ns, value, record = found
    if start is not None and start[0] < t_ns[0]:
        t_ns = np.concatenate([[start[0]], t_ns])
        value = np.concatenate([[start[1]], value])
        record = np.concatenate([record[:1], record])
    keep = _ends(t_ns)
    t_ns, value, record = t_ns[keep], value[keep], record[keep]
    if len(t_ns) < 2:
        return None
    step = np.diff(value)
    if wraps:
        step = (step + _WRAP // 2) % _WRAP - _WRAP // 2
    step = np.maximum(step, 0.0)
    passed = np.diff(t_ns).astype(np.float64)
    return Rates(t_ns[:-1], t_ns[1:], step, step * 8e9 / passed, record[1:])


def _ends(t_ns: Array) -> Array:
    """Rows that end an interval: all, or of rows that are close the first, and the last of each step."""
    last_of_time = np.append(np.diff(t_ns) > 0, True)
    rows = np.flatnonzero(last_of_time)
    if len(rows) < 3 or float(medians(np.diff(t_ns[rows]))) >= _SHORT_NS:
        return rows
    step = (t_ns[rows] - t_ns[rows[0]]) // _BIN_NS
    return sorted_unique(np.append(rows[:1], rows[np.append(np.diff(step) > 0, True)]))


def _increments(found: Samples, start: tuple[int, float] | None) -> Samples:
    """What a counter gained up to each row; what it held before the first row is no part of it."""
    before = found.value[:1] if start is None else np.array([start[1]])
    gained = np.maximum(np.diff(found.value, prepend=before), 0.0)
    return Samples(found.t_ns, gained, found.record)


_SERIES: Mapping[str, tuple[str, float]] = {
    "throughput_bps": ("rate", 1.0),
    "retransmissions": ("retransmissions", 1.0),
    "cwnd_bytes": ("cwnd", 1.0),
    "cwnd": ("cwnd_packets", 1.0),
    "rwnd_bytes": ("rwnd", 1.0),
    "srtt_ms": ("srtt", 1e-3),
    "rtt_ms": ("rtt", 1e-3),
    "packets": ("packets", 1.0),
    "lost_packets": ("lost_packets", 1.0),
}
"""Names of `series` that are about a transfer, whatever the format: the quantity, and its unit in ours."""

_SIMULATED = {"cwnd": "cwnd", "srtt": "srtt", "snd_nxt": "sent", "rcv_nxt": "received"}
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "bytes": 1.0}


def _of_series(m: Timeline) -> Iterator[LoggedFlow]:
    table = m.table("series")
    if not len(table):
        return
    groups: dict[tuple[object, ...], dict[str, tuple[int, Samples]]] = {}
    for source in sorted_unique(table["source"]).tolist():
        if m.sources[source].layer == "link":
            continue
        mine = table.where(table["source"] == source)
        details = m.sources[source].details
        for label, name, rows in named_series(mine):
            quantity, factor = _quantity(name, details)
            if quantity is None or (quantity != "rate" and _states_of(m, source)):
                continue
            run = details.get("run")
            key: tuple[object, ...] = (source, label)
            if run is not None:
                key = (os.path.dirname(m.sources[source].path), run)
            samples = Samples(
                mine["t_ns"][rows], mine["value"][rows].astype(np.float64) * factor, mine["record"][rows]
            )
            groups.setdefault(key, {}).setdefault(quantity, (source, samples))
    for key, known in groups.items():
        source = min(one for one, _ in known.values())
        label = str(key[1]) if isinstance(key[1], str) else ""
        found = _test(m, source, label, {name: samples for name, (_, samples) in known.items()})
        if found is not None:
            yield found


def is_quantity(name: str) -> bool:
    """Whether a series of this name is about a transfer, not about the link below it."""
    return name in _SERIES


def _states_of(m: Timeline, source: int) -> bool:
    """Whether a source's values have become TCP state of a connection: then they are there."""
    return "tcp_states" in m.traces[source].tables


def _quantity(name: str, details: Mapping[str, object]) -> tuple[str | None, float]:
    if details.get("variable") == name:
        quantity, unit = _SIMULATED.get(name), str(details.get("unit"))
        if quantity == "cwnd" and unit == "packets":
            quantity = "cwnd_packets"
        return quantity, _UNITS.get(unit, 1.0)
    return _SERIES.get(name, (None, 1.0))


def named_series(table: Table) -> Iterator[tuple[str, str, Array]]:
    """Rows by label and name, as they first appear."""
    pairs = list(zip(table["label"].tolist(), table["name"].tolist(), strict=True))
    numbers = {pair: at for at, pair in enumerate(dict.fromkeys(pairs))}
    codes = np.fromiter((numbers[pair] for pair in pairs), np.int64, len(pairs))
    for (label, name), number in numbers.items():
        yield str(label), str(name), np.flatnonzero(codes == number)


def _test(m: Timeline, source: int, label: str, known: Mapping[str, Samples]) -> LoggedFlow | None:
    found = LoggedFlow(source, label=label)
    details = m.sources[source].details
    if "rate" in known:
        found.counted = str(details.get("counted") or "as the log reports")
        sends = details.get("sends")
        found.sends = sends if isinstance(sends, bool) else None
        start = details.get("starts_ns")
        begun = _on_timeline(m, source, start) if isinstance(start, int) else None
        found.rates = _of_rates(known["rate"], begun)
    else:
        for quantity, sends, words in (("sent", True, "sent"), ("received", False, "received")):
            if quantity in known and found.rates is None:
                found.rates = _of_counter(known[quantity], True, None)
                found.sends, found.counted = sends, words
    found.rtt_kind = "srtt" if "srtt" in known else "rtt"
    rtt = known.get("srtt") or known.get("rtt")
    found.rtt = None if rtt is None else _measured(rtt)
    found.cwnd, found.cwnd_packets = known.get("cwnd"), known.get("cwnd_packets")
    found.rwnd, found.retransmissions = known.get("rwnd"), known.get("retransmissions")
    found.packets, found.lost_packets = known.get("packets"), known.get("lost_packets")
    if found.rates or found.rtt or found.cwnd or found.cwnd_packets or found.retransmissions:
        return found
    return None


def _of_rates(found: Samples, start_ns: int | None) -> Rates:
    """Rates logged at the end of their interval; the first began with the test, or was as long as most."""
    usual = int(medians(np.diff(found.t_ns))) if len(found.t_ns) > 1 else 0
    first = int(found.t_ns[0]) - usual if start_ns is None else start_ns
    begin = np.concatenate([[first], found.t_ns[:-1]])
    passed = (found.t_ns - begin).astype(np.float64)
    good = passed > 0
    size = found.value * passed / 8e9
    return Rates(begin[good], found.t_ns[good], size[good], found.value[good], found.record[good])
