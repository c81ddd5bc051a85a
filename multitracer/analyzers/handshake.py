"""What both ends offered when a connection was opened, what came of it, and what that costs.

All is in this file: it imports nothing heavy, so that what it needs is known by loading it, and it declares
its key of the JSON object and its columns of a batch (`multitracer.model.analysis.Analyzer`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from multitracer.model.analysis import Analyzer, BatchColumn, Result
from multitracer.model.packet_size import LARGEST_UNSCALED
from multitracer.model.quantities import duration, rate

if TYPE_CHECKING:
    from multitracer.model.table import Array, Table
    from multitracer.model.timeline import Connection, Timeline

_DIRECTIONS = ("forward", "reverse")
_OPTIONS = ("mss", "window_scale", "sack_permitted", "timestamps")
_DEFAULT_MSS = {4: 536, 6: 1220}
_LISTED = 1_000
"""Connections of a summarised capture that are described: there may be hundreds of thousands."""
_SYN, _ACK, _ECE, _CWR, _AE = 0x002, 0x010, 0x040, 0x080, 0x100
_ACCURATE_ANSWERS = {_CWR, _CWR | _ECE, _AE, _AE | _CWR}

Entry = dict[str, Any]


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Options of the SYNs, what is in use by them, the RTT of the handshake, and warnings.

    Options are read at every capture that has the SYN; those of an entry are from the capture nearest to
    the end that sent the data. ECN, data in the SYN and the handshake's RTT need single segments: they
    are None for a summarised capture.

    Returns
    -------
    Result
        ``connections``: an entry each; of a summarised capture the first 1,000, and ``left_out`` counts the
        rest. ``warnings``: how many of these have each code.

    References
    ----------
    RFC 9293 3.1 and 3.7.1 (window, MSS); RFC 7323 2 and 3 (window scale, timestamps: both SYNs must carry
    them); RFC 2018 2 (SACK-permitted); RFC 3168 6.1.1 and RFC 9768 3.1 (ECN); RFC 7413 (Fast Open).
    """
    if not m.connections:
        return Result("handshake", inconclusive="needs a packet capture with TCP segments (pcap, pcapng)")
    known: Sequence[Connection] = m.connections
    shown = [known[at] for at in range(min(len(known), _LISTED))] if m.summarised else list(known)
    exchanges = {} if m.summarised else _exchanges(m, shown)
    entries = [_entry(m, one, exchanges.get(one.index)) for one in shown]
    counts: dict[str, int] = {}
    for entry in entries:
        for code in {warning["code"] for warning in entry["warnings"]}:
            counts[code] = counts.get(code, 0) + 1
    left_out = len(known) - len(shown)
    return Result(
        "handshake",
        {"connections": entries, "warnings": dict(sorted(counts.items())), "left_out": left_out},
    )


def _entry(m: Timeline, connection: Connection, exchange: Entry | None) -> Entry:
    source = _nearest(m, connection)
    summary = connection.summaries[source]
    seen = [summary[name]["syn"] > 0 for name in _DIRECTIONS]
    offered = {
        name: _offered(summary[name]) if syn else None for name, syn in zip(_DIRECTIONS, seen, strict=True)
    }
    cut = [name for name in _DIRECTIONS if offered[name] is not None and summary[name]["options_cut"]]
    exchange = exchange or {
        "opened_by": None,
        "ecn": None,
        "syn_bytes": None,
        "fast_open": None,
        "rtt_ms": None,
    }
    entry: Entry = {
        "conn": connection.index,
        "point": m.sources[source].point,
        "complete": summary["handshake"],
        "offered": offered,
        "in_use": {
            "window_scaling": _agreed(offered, "window_scale", cut),
            "sack": _agreed(offered, "sack_permitted", cut),
            "timestamps": _agreed(offered, "timestamps", cut),
        },
        **exchange,
        "syn_retransmissions": sum(max(summary[name]["syn"] - 1, 0) for name in _DIRECTIONS),
    }
    entry["warnings"] = [
        {"code": code, "text": text}
        for code, text in (*_judged(connection, summary, entry, cut), *_changed(m, connection))
    ]
    return entry


def _nearest(m: Timeline, connection: Connection) -> int:
    """The capture next to the data sender if it has the connection, else the first that does."""
    near = m.snd
    return near if near is not None and near in connection.summaries else min(connection.summaries)


def _offered(direction: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a SYN; None for what it has not, and for what the capture may have cut."""
    cut = direction["options_cut"]
    # A window scale of 0 is an offer, too.
    return {option: None if cut and direction[option] is False else direction[option] for option in _OPTIONS}


def _agreed(offered: Mapping[str, Mapping[str, Any] | None], option: str, cut: Sequence[str]) -> bool | None:
    """Whether both SYNs carry an option; None where a SYN, or its options, was not captured."""
    has = [_has(offered[name], option, cut=name in cut) for name in _DIRECTIONS]
    return None if None in has else all(has)


def _has(one: Mapping[str, Any] | None, option: str, *, cut: bool) -> bool | None:
    if one is None:
        return None
    present = one[option] is not None and one[option] is not False
    return present or (None if cut else False)


def _judged(
    connection: Connection, summary: Mapping[str, Any], entry: Entry, cut: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What the options cost, with the numbers that show it; `cut` names the SYNs with options cut off."""
    in_use, offered = entry["in_use"], entry["offered"]
    missing = [name for name in _DIRECTIONS if offered[name] is None]
    if missing:
        yield (
            "syn-not-captured",
            f"no SYN of the {' and '.join(missing)} direction: options are unknown, windows may be unscaled",
        )
    if cut:
        yield (
            "options-not-captured",
            f"the capture cut the options of the SYN in the {' and '.join(cut)} direction: those that are "
            "missing are unknown",
        )
    data = summary[_DIRECTIONS[connection.data_dir]]
    rtt = data["rtt"]
    if in_use["window_scaling"] is False:
        without = [name for name in _DIRECTIONS if offered[name]["window_scale"] is None]
        at_most = (
            f", {rate(LARGEST_UNSCALED * 8e9 / rtt['min_ns'])} at the min RTT of "
            f"{duration(rtt['min_ns'] / 1e9)}"
            if rtt and rtt["min_ns"] > 0
            else ""
        )
        yield (
            "no-window-scaling",
            f"no window scaling (not offered: {' and '.join(without)}): window limited to 64 KiB{at_most}; "
            f"at most {data['max_flight_bytes']:,} bytes were in flight",
        )
    if in_use["sack"] is False:
        yield "no-sack", "no SACK: several losses in one window are repaired one per RTT"
    if in_use["timestamps"] is False:
        yield (
            "no-timestamps",
            "no timestamps: retransmitted segments give no RTT sample, spurious timeouts are hard to see",
        )
    for name in _DIRECTIONS:
        default = _DEFAULT_MSS[6 if ":" in connection.endpoints[0][0] else 4]
        options = offered[name]
        if options is None or (options["mss"] is None and name in cut):
            continue
        if options["mss"] is None:
            yield (
                "no-mss",
                f"no MSS option in the {name} SYN: segments to that end have at most {default} bytes",
            )
        elif options["mss"] < default:
            yield (
                "small-mss",
                f"MSS {options['mss']:,} in the {name} SYN, below the default of {default}: more header, "
                "smaller windows",
            )
    if entry["syn_retransmissions"]:
        number = entry["syn_retransmissions"]
        yield "syn-retransmitted", f"{number} SYN retransmission{'s' if number > 1 else ''}"


def _changed(m: Timeline, connection: Connection) -> Iterator[tuple[str, str]]:
    """Options that differ between captures: a device on the path rewrote them."""
    order = sorted(connection.summaries, key=lambda source: (source != m.snd, source == m.rcv, source))
    for name in _DIRECTIONS:
        at = [(source, connection.summaries[source][name]) for source in order]
        at = [(source, one) for source, one in at if one["syn"] and not one["options_cut"]]
        for option in _OPTIONS:
            values = {source: one[option] for source, one in at}
            if len(set(values.values())) > 1:
                where = ", ".join(
                    f"{value} at {m.sources[source].point or m.sources[source].path}"
                    for source, value in values.items()
                )
                yield "option-changed-on-path", f"{option} of the {name} SYN differs: {where}"


def _exchanges(m: Timeline, connections: Sequence[Connection]) -> dict[int, Entry]:
    """The exchange of SYN, SYN-ACK and ACK of each connection whose two SYNs are in its nearest capture."""
    import numpy as np

    segments = m.segments_by_flow
    rows = np.flatnonzero(segments["flags"] & _SYN)
    rows = rows[np.lexsort((segments["record"][rows], segments["t_ns"][rows]))]
    nearest = np.full(max((one.index for one in connections), default=-1) + 1, -1, dtype=np.int64)
    for one in connections:
        nearest[one.index] = _nearest(m, one)
    conn, source = segments["conn"][rows], segments["source"][rows]
    known = (conn >= 0) & (conn < len(nearest))
    rows = rows[known]
    rows = rows[source[known] == nearest[conn[known]]]
    found: dict[int, list[int]] = {}
    for row, index in zip(rows.tolist(), segments["conn"][rows].tolist(), strict=True):
        found.setdefault(index, []).append(row)
    flags = segments["flags"]
    answered = {}
    for index, own in found.items():
        kinds = flags[own].tolist()
        syns = [row for row, kind in zip(own, kinds, strict=True) if not kind & _ACK]
        answers = [row for row, kind in zip(own, kinds, strict=True) if kind & _ACK]
        if syns and answers:
            answered[index] = (syns, answers)
    if not answered:
        return {}
    by_index = {one.index: one for one in connections}
    ends = [(syns[0], answers[0]) for syns, answers in answered.values()]
    syn, answer = (_Syns.of(segments, list(rows)) for rows in zip(*ends, strict=True))
    of = np.array(list(answered), dtype=np.int64)
    third = _first_acks(m, of, np.array(syn.dir), nearest[of], np.array(answer.t_ns))
    once = [len(syns) + len(answers) == 2 for syns, answers in answered.values()]
    return {
        index: _exchange(by_index[index], syn.one(at), answer.one(at), once[at], third[at])
        for at, index in enumerate(answered)
    }


class _Syns(NamedTuple):
    """Columns of one SYN or SYN-ACK of each connection, or of one of them."""

    t_ns: Any
    dir: Any
    length: Any
    flags: Any
    ack: Any

    @classmethod
    def of(cls, segments: Table, rows: list[int]) -> _Syns:
        return cls(*(segments[name][rows].tolist() for name in cls._fields))

    def one(self, at: int) -> _Syns:
        return _Syns(*(column[at] for column in self))


def _exchange(connection: Connection, syn: _Syns, answer: _Syns, once: bool, third: int | None) -> Entry:
    address, port = connection.endpoints[syn.dir]
    rtt_ms = None
    if once:  # Karn: of a repeated SYN it is unknown which one was answered
        there = (answer.t_ns - syn.t_ns) / 1e6
        back = None if third is None else (third - answer.t_ns) / 1e6
        rtt_ms = {
            "syn_to_synack": round(there, 3),
            "synack_to_ack": None if back is None else round(back, 3),
            "total": None if back is None else round(there + back, 3),
        }
    return {
        "opened_by": f"[{address}]:{port}" if ":" in address else f"{address}:{port}",
        "ecn": _ecn(syn.flags, answer.flags),
        "syn_bytes": syn.length,
        # The SYN counts as one byte: an acknowledgment of more accepts the data (RFC 7413 4.2.2).
        "fast_open": None if not syn.length else answer.ack > 1,
        "rtt_ms": rtt_ms,
    }


def _first_acks(
    m: Timeline, conn: Array, direction: Array, source: Array, after_ns: Array
) -> list[int | None]:
    """Time of the first segment of a direction after the SYN-ACK, of each connection."""
    import numpy as np

    segments = m.segments_by_flow
    t_ns = segments["t_ns"]
    begin, end = m.flow_bounds(conn, direction, source)
    # Times of a flow ascend: half of what is left of each is ruled out at a time.
    low, high = begin, end
    while (open_ := low < high).any():
        middle = (low + high) // 2
        earlier = open_ & (t_ns[np.where(open_, middle, 0)] < after_ns)
        low, high = np.where(earlier, middle + 1, low), np.where(open_ & ~earlier, middle, high)
    # Of the first eight of each, those that are no SYN.
    place = low[:, None] + np.arange(8)
    flow, nth = np.nonzero(place < end[:, None])
    first = place[flow, nth]
    other = (segments["flags"][first] & _SYN) == 0
    found: list[int | None] = [None] * len(conn)
    for at, time_ns in zip(flow[other][::-1].tolist(), t_ns[first[other]][::-1].tolist(), strict=True):
        found[at] = time_ns
    return found


def _ecn(syn: int, answer: int) -> str:
    """``not offered``, ``refused``, ``classic`` (RFC 3168 6.1.1) or ``accurate`` (RFC 9768 3.1, Table 2)."""
    bits = answer & (_AE | _CWR | _ECE)
    if not (syn & _ECE and syn & _CWR):
        return "not offered"
    if syn & _AE and bits in _ACCURATE_ANSWERS:
        return "accurate"
    return "classic" if bits in (_ECE, _AE | _ECE) else "refused"


def _round_trips(summary: Mapping[str, Any]) -> dict[int, float | None]:
    return {one["conn"]: one["rtt_ms"] and one["rtt_ms"]["total"] for one in summary["connections"]}


def _repeats(summary: Mapping[str, Any]) -> dict[int, int]:
    return {one["conn"]: one["syn_retransmissions"] for one in summary["connections"]}


def _codes(summary: Mapping[str, Any]) -> dict[int, str]:
    return {
        one["conn"]: " ".join(warning["code"] for warning in one["warnings"])
        for one in summary["connections"]
    }


ANALYZER = Analyzer(
    name="handshake",
    question="What did the ends agree on when the connection was opened, and what does it cost?",
    run=run,
    key="handshake",
    batch=(
        BatchColumn(
            "handshake_rtt_ms", "SYN to SYN-ACK plus SYN-ACK to ACK [ms]", _round_trips, compared=True
        ),
        BatchColumn("syn_retransmissions", "SYN and SYN-ACK retransmissions", _repeats),
        BatchColumn("handshake_warnings", "codes of what the handshake lacks", _codes, numeric=False),
    ),
)
