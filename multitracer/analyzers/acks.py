"""How the receiver acknowledged: how often, how late, compressed, and what its window did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import GroupedSearch, Times, advancing, payload, valid_acks
from multitracer.layers.tcp.two_way import TwoWay, quantiles, two_way_batches
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.unique import among
from multitracer.model.schema import ACK_KINDS
from multitracer.model.schema.results import ACK_BUNCHES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_COMPRESSED = 0.5
"""ACKs closer than this share of the spacing of the data that they acknowledge are compressed."""

_LEAST_BUNCH = 3
_SHOWN = 100
"""Times at zero that are listed of a connection."""
_DELAYED_NS = 500_000_000
"""The latest that a receiver may delay an ACK (RFC 9293 section 3.8.6.3)."""
_LATE_NS = 20_000_000


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Describe the ACKs of each connection's data direction.

    ACK compression is judged at the sender's side, where ACKs arrive; ACK delay at the receiver's, where they
    are made: each needs the capture there.

    References
    ----------
    Paper [18] (ACK compression); RFC 9293 section 3.8.6.3, RFC 5681 section 4.2 (delayed ACKs); RFC 9293
    section 3.8.6.1 (zero window).
    """
    tables, entries = [], []
    for both in two_way_batches(m):
        carrying = both.counted(both.data_of[both.data["length"] > 0])
        answered = both.counted(both.acks_of)
        kinds, windows = _kinds(both), _windows(m, both)
        table, compressions = _compression(m, both)
        delayed = _delayed(m, both.connections)
        tables.append(table)
        for at, connection in enumerate(both.connections):
            if carrying[at] and answered[at]:
                entries.append(
                    {
                        "conn": connection.index,
                        "acks": kinds[at],
                        "compression": compressions[at],
                        "delayed": delayed.get(connection.index),
                        "window": windows[at],
                    }
                )
    if not entries:
        return Result("acks", inconclusive="needs data and its ACKs in one capture")
    return Result("acks", {"connections": entries}, {"compressed_runs": Table.concat(ACK_BUNCHES, tables)})


def _kinds(both: TwoWay) -> list[dict[str, int]]:
    codes = both.acks_of * len(ACK_KINDS) + both.acks["ack_kind"]
    counts = np.bincount(codes, minlength=len(both) * len(ACK_KINDS)).reshape(len(both), -1)
    entries = []
    for row in counts.tolist():
        named = {name: count for name, count in zip(ACK_KINDS, row, strict=True) if name}
        entries.append({"total": sum(row), **named})
    return entries


def _compression(m: Timeline, both: TwoWay) -> tuple[Table, list[dict[str, Any]]]:
    """Runs of ACKs that arrived closer together than half the spacing of the data that they acknowledge."""
    rows = np.flatnonzero(advancing(both.acks_of, both.acks["ack"]))
    sent_ns = _sent_ns(both, both.acks_of[rows], both.acks["ack"][rows])
    rows, sent_ns = rows[sent_ns >= 0], sent_ns[sent_ns >= 0]
    of, t_ns, number = both.acks_of[rows], both.acks["t_ns"][rows], both.acks["ack"][rows]
    apart_ns, spaced_ns = np.diff(t_ns), np.diff(sent_ns)
    pairs = (of[1:] == of[:-1]) & (spaced_ns > 0)
    close = pairs & (apart_ns < _COMPRESSED * spaced_ns)
    first, last = _runs(close)
    keep = last - first + 1 >= _LEAST_BUNCH
    first, last = first[keep], last[keep]
    table = Table(
        ACK_BUNCHES,
        {
            "t_ns": t_ns[first],
            "end_ns": t_ns[last],
            "conn": both.acks["conn"][rows[first]],
            "acks": last - first + 1,
            "bytes": number[last] - number[first],
            "data_span_ns": sent_ns[last] - sent_ns[first],
            "record": both.acks["record"][rows[first]],
        },
    )
    longest = np.zeros(len(both), dtype=np.int64)
    np.maximum.at(longest, of[first], last - first + 1)
    counts = (both.counted(of[:-1][pairs]), both.counted(of[:-1][close]), both.counted(of[first]), longest)
    found = []
    for source, judged, compressed, runs, most in zip(
        both.sources, *(count.tolist() for count in counts), strict=True
    ):
        near = m.sources[source].point == "snd"
        found.append(
            {
                "pairs": judged,
                "compressed": compressed,
                "share": round(compressed / judged, 6) if judged else 0.0,
                "compressed_runs": runs,
                "longest": most,
                "basis": "sender's capture" if near else "not seen at the sender: a lower bound",
            }
        )
    return table, found


def _runs(close: Array) -> tuple[Times, Times]:
    """First and last ACK of each run of close pairs."""
    edges = np.diff(np.concatenate([[0], close.astype(np.int8), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def _sent_ns(both: TwoWay, of: Times, numbers: Times) -> Times:
    """When the byte before each ACK number was sent; -1 if more than once (Karn) or never."""
    data = both.data.where(both.data["length"] > 0)
    data_of = both.data_of[both.data["length"] > 0]
    if not len(data):
        return np.full(len(numbers), -1, dtype=np.int64)
    seq, ends = data["seq"], data["seq"] + data["length"]
    keys = both.line.at(data_of, ends)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], both.line.at(of, numbers)), len(order) - 1)
    row = order[at]
    fits = (data_of[row] == of) & (seq[row] < numbers) & (ends[row] >= numbers)
    begins = both.line.at(data_of, seq)
    once = ~among(begins[row], begins[data["duplicate"] > 0])
    return np.where(fits & once, data["t_ns"][row], -1)


def _delayed(m: Timeline, connections: Sequence[Connection]) -> dict[int, dict[str, Any]]:
    """How long each receiver held its ACKs, and how many segments each covers; only with its capture."""
    if m.rcv is None:
        return {}
    seen = [one for one in connections if m.rcv in one.summaries]
    data, acks = payload(m, seen, m.rcv), valid_acks(m, seen, m.rcv)
    acks = acks.where(advancing(acks.of, acks["ack"]) & (acks["length"] == 0))
    enough = np.flatnonzero((data.sizes > 0) & (acks.sizes > 1))
    if not len(enough):
        return {}
    seen, data, acks = [seen[at] for at in enough.tolist()], data.chosen(enough), acks.chosen(enough)
    ends = data["seq"] + data["length"]
    line = GroupedSearch(data.count, ends, acks["ack"])
    order = np.argsort(line.at(data.of, ends), kind="stable")
    known, asked = (data.of[order], ends[order]), (acks.of, acks["ack"])
    at = line.search(known, asked)
    row = order[np.minimum(at, len(order) - 1)]
    exact = (at < data.bounds[acks.of + 1]) & (ends[row] == acks["ack"])
    held_ns = acks["t_ns"] - data["t_ns"][row]
    exact &= (held_ns >= 0) & (held_ns <= _DELAYED_NS)
    of, held_ns = acks.of[exact], held_ns[exact]
    # From each ACK to the next of the connection.
    covered = np.diff(line.search(known, asked, right=True))
    pairs = (np.diff(acks.of) == 0) & (covered > 0)
    covered, covered_of = covered[pairs], acks.of[1:][pairs]
    count = data.count
    pace, held = np.bincount(covered_of, minlength=count), np.bincount(of, minlength=count)
    both_known = np.flatnonzero((pace > 0) & (held > 0))
    middle = np.zeros((count, 2))
    middle[held > 0] = quantiles(held_ns, of, count, (0.5, 1))
    columns = (
        np.bincount(covered_of, covered, minlength=count) / np.maximum(pace, 1),
        *(np.bincount(covered_of[covered == n], minlength=count) / np.maximum(pace, 1) for n in (1, 2)),
        *middle.T,
        np.bincount(of[held_ns > _LATE_NS], minlength=count),
    )
    return {
        seen[at].index: {
            "segments_per_ack": round(mean, 3),
            "every_segment_share": round(every, 6),
            "every_second_share": round(second, 6),
            "held_median_ms": round(median / 1e6, 3),
            "held_max_ms": round(most / 1e6, 3),
            "held_over_20ms": late,
        }
        for at, mean, every, second, median, most, late in zip(
            both_known.tolist(), *(column[both_known].tolist() for column in columns), strict=True
        )
    }


def _windows(m: Timeline, both: TwoWay) -> list[dict[str, Any]]:
    """What each receiver advertised: the largest and smallest window, updates, and times at zero."""
    acks, window = both.acks, both.acks["window"]
    updates = both.counted(both.acks_of[acks["ack_kind"] == acks.code("ack_kind", "window_update")])
    rows = np.flatnonzero(window >= 0)
    of, window, t_ns = both.acks_of[rows], window[rows].astype(np.int64), acks["t_ns"][rows]
    largest, smallest = np.full(len(both), -1), np.full(len(both), np.iinfo(np.int64).max)
    np.maximum.at(largest, of, window)
    np.minimum.at(smallest, of, window)
    entries: list[dict[str, Any]] = [
        {"largest": most, "smallest": least, "updates": count, "zero": [], "zero_s": 0.0}
        if most >= 0
        else {"largest": None, "smallest": None, "updates": count, "zero": [], "zero_s": None}
        for most, least, count in zip(largest.tolist(), smallest.tolist(), updates.tolist(), strict=True)
    ]
    zero, new = window == 0, np.diff(of, prepend=-1) > 0
    begins = np.flatnonzero(zero & (new | ~np.append(False, zero[:-1])[: len(zero)]))
    # A run ends with the next ACK that opens the window, or the last one of its connection.
    ends = np.flatnonzero(zero & np.append(new[1:] | ~zero[1:], True)[: len(zero)])
    inside = np.append(~new[1:], False)[: len(zero)]
    closed_ns = np.zeros(len(both), dtype=np.int64)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        until = int(t_ns[end + 1 if inside[end] else end])
        entry = entries[int(of[begin])]
        closed_ns[of[begin]] += until - int(t_ns[begin])
        if len(entry["zero"]) < _SHOWN:
            span = (round(m.seconds(int(t_ns[begin])), 6), round(m.seconds(until), 6))
            record = int(acks["record"][rows[begin]])
            entry["zero"].append({"start": span[0], "end": span[1], "record": record})
    for at in np.flatnonzero(closed_ns).tolist():
        entries[at]["zero_s"] = round(int(closed_ns[at]) / 1e9, 6)
    return entries


ANALYZER = Analyzer(
    name="acks",
    question="How did the receiver acknowledge: delayed, compressed, with which window?",
    run=run,
    **QUESTIONS["acks"]._asdict(),
)
