"""Hold what is told of a cellular bearer against the lab's own record of it.

    sudo multitracer lab fleet benchmarks/fleets/rlc.toml -o runs --jobs 2
    python benchmarks/rlc.py runs/*

For every measurement with ``rlc.pcapng`` and ``truth.json`` (which the analyses do not read): PDUs sent, sent
again and received, status reports and NACKs, bursts, places of packets, resets and their gaps, packets lost,
idle time, utilization, and timeouts that the bearer's own retransmissions provoked. Prints one row a
quantity, then every difference.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import multitracer as mt
from multitracer.layers.link.path import link_path
from multitracer.layers.link.resetlog import handshake_spans, handshakes
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.arrays.intervals import intersect, intervals, longer_than, subtract, total

_SIDES = ("ue", "bs")
# The log's words for what the air has as an RRC message, or not at all.
_STUCK_NS = 100_000_000  # on its way for longer than any PDU that is not sent again
_CAUSES = {"n2": "reestablishment", "handover": "handover"}
Row = tuple[str, float, float, float]


class Line(NamedTuple):
    """A line of the bearer's own log."""

    t_ns: int
    entity: str
    action: str
    kind: str
    fields: dict[str, str]


def main(arguments: list[str]) -> None:
    """Compare every run named, and print."""
    rows: dict[str, list[tuple[str, float, float, float]]] = defaultdict(list)
    verdicts = []
    for run in map(Path, arguments):
        if not (run / "truth.json").exists() or not (run / "rlc.pcapng").exists():
            continue
        analysis = mt.analyze(mt.read(run))
        truth = json.loads((run / "truth.json").read_text())
        log = list(_log(run))
        for name, ours, true, allowed in compare(analysis, truth, log):
            rows[name].append((run.name, ours, true, allowed))
        verdicts.append((run.name, competing(analysis, log)))
    print("| quantity | runs | ours | truth | runs that differ |\n|---|---|---|---|---|")
    for name, values in rows.items():
        ours, true = (sum(value[index] for value in values) for index in (1, 2))
        differ = len({value[0] for value in values if abs(value[1] - value[2]) > value[3]})
        print(f"| {name} | {len({value[0] for value in values})} | {ours:,.10g} | {true:,.10g} | {differ} |")
    for name, values in rows.items():
        for run_name, ours, true, allowed in values:
            if abs(ours - true) > allowed:
                print(f"- {name}: {run_name}: {ours:.10g}, truth {true:.10g}")
    print(
        "\n| run | timeouts | while the bearer had the data or its ACK | chains: bursts and timer |"
        "\n|---|---|---|---|"
    )
    for run_name, (timeouts, during, chains) in verdicts:
        if timeouts or chains:
            print(f"| {run_name} | {timeouts} | {during} | {chains} |")


def compare(analysis: Any, truth: dict[str, Any], log: list[Line]) -> Iterator[Row]:
    """Name, ours, the truth, and the difference that is no miss."""
    m, results = analysis.measurement, analysis.results
    frames, events = m.table("link_frames"), m.table("link_events")
    for side, name in enumerate(_SIDES):
        entity = m.entities.index(name)
        mine = frames.where(frames["entity"] == entity)
        sent = mine.where(mine.words("action") == "snd")
        heard = mine.where((mine.words("action") == "rcv") & (mine["duplicate"] == 0))
        told = [line for line in log if line.entity == name]
        true = [line for line in told if line.kind == "I" and line.action == "snd"]
        yield "data PDUs sent", len(sent), len(true), 0
        again = truth["link_retransmissions"][side]
        yield "of them, again", int(np.count_nonzero(sent["attempt"] > 0)), again, 0
        yield "most attempts of a PDU", _most(sent["attempt"]), _most(_tries(true)), 0
        got = [line for line in told if (line.action, line.kind) == ("rcv", "I") and "dup" not in line.fields]
        yield "data PDUs received, each once", len(heard), len(got), 0
        for kind, words in (("RR", "status reports"), ("SREJ", "NACKs")):
            ours = (events["entity"] == entity) & (events.words("kind") == kind)
            ours &= events.words("action") == "snd"
            reports = sum((line.action, line.kind) == ("snd", kind) for line in told)
            yield words, int(np.count_nonzero(ours)), reports, 0
        burst = next(e for e in results["link_retransmissions"].summary["entities"] if e["entity"] == name)[
            "longest_burst"
        ]
        yield "longest burst [s]", burst["duration_ms"] / 1e3 if burst else 0.0, _longest(true), 0.0001
    facts = results["frame_map"].summary["directions"]
    # One whose end was flushed before it was sent is in no PDU as a whole.
    entered = sum(truth["packets_in"]) - len(truth["if_queue_drops"])
    cut = sum(event["what"] in ("packet_lost", "packet_discarded") for event in truth["events"])
    yield "packets placed exactly", sum(one["exact"] for one in facts), entered, cut
    yield from _bearer(m, results, truth)
    yield from _resets(m, results, truth, log)
    yield from _idle(m, results, truth)


def _most(attempts: Any) -> int:
    return int(np.max(attempts, initial=0))


def _tries(sent: list[Line]) -> list[int]:
    return [int(line.fields.get("try", "0")) for line in sent]


def _bearer(m: Any, results: Any, truth: dict[str, Any]) -> Iterator[Row]:
    """Polls, gaps and what was given up: each with its time, held one by one."""
    tables = results["bearer"].tables
    polls, gaps, lost = (tables[name] for name in ("polls", "reorderings", "discards"))
    for side, name in enumerate(_SIDES):
        entity, peer = m.entities.index(name), m.entities.index(_SIDES[1 - side])
        mine = polls.where(polls["entity"] == entity)
        yield "polls", len(mine), truth.get("polls", [0, 0])[side], 0
        # Two PDUs of one interval may both have a poll: each counts.
        told = Counter((e["asked_ns"], e["t_ns"]) for e in _events(truth, "poll_answered", side))
        answered = mine.where(mine["end_ns"] >= 0)
        ours = Counter(zip(answered["t_ns"].tolist(), answered["end_ns"].tolist(), strict=True))
        yield "polls answered, at the same time", (told & ours).total(), (told | ours).total(), 0
        true = sum(end - begin for begin, end in told.elements()) / 1e9
        yield "poll delays [s]", float((answered["end_ns"] - answered["t_ns"]).sum()) / 1e9, true, 1e-6
        mine = gaps.where((gaps["entity"] == peer) & (gaps["end_ns"] >= 0))
        told = Counter((e["opened_ns"], e["t_ns"]) for e in _events(truth, "gap_filled", 1 - side))
        ours = Counter(zip(mine["t_ns"].tolist(), mine["end_ns"].tolist(), strict=True))
        yield "PDUs overtaken, at the same times", (told & ours).total(), (told | ours).total(), 0
        true = sum(end - begin for begin, end in told.elements()) / 1e9
        yield "reordering delays [s]", float((mine["end_ns"] - mine["t_ns"]).sum()) / 1e9, true, 1e-6
        discarded = len(_events(truth, "packet_discarded", side))
        gone = len(_events(truth, "packet_lost", side)) + discarded
        rows = lost.where(lost["entity"] == entity)
        yield "packets given up", len(rows), gone, 0
        way = next(one for one in results["bearer"].summary["directions"] if one["entity"] == name)
        again = truth.get("segments_sent_again", [0, 0])[side]
        yield "segments of PDUs cut again", way["segmentation"]["segments_again"], again, 0


def _events(truth: dict[str, Any], what: str, side: int) -> list[dict[str, Any]]:
    return [event for event in truth["events"] if event["what"] == what and event["side"] == side]


def _resets(m: Any, results: Any, truth: dict[str, Any], log: list[Line]) -> Iterator[Row]:
    found = results["link_resets"].summary["resets"]
    true = _begun((event for event in truth["events"] if event["what"] == "reset"), log)
    yield "resets", len(found), len(true), 0
    over = [event["t_ns"] for event in truth["events"] if event["what"] == "handover_end"]
    if len(found) == len(true):
        for ours, event in zip(found, true, strict=True):
            yield "causes of resets told right", float(ours["cause"] == _CAUSES[event["cause"]]), 1.0, 0
            if event["cause"] == "handover":
                yield "begin of handovers [s]", ours["t"], m.seconds(event["t_ns"]), 0.05
                length = (over.pop(0) - event["t_ns"]) / 1e9
                yield "time without service [s]", (ours["end"] or 0.0) - ours["t"], length, 0.05
                # In-order delivery stands still for as long, and until the first packet is through.
                yield "gaps of TCP at least as long", float((ours["gap_s"] or 0) >= length), 1.0, 0
    lost = [event for event in truth["events"] if event["what"] == "packet_lost"]
    ours = sum((reset["segments_lost"] or 0) + (reset["acks_lost"] or 0) for reset in found)
    yield "packets lost in resets", ours, len(lost), 0


def _begun(events: Iterable[dict[str, Any]], log: list[Line]) -> list[dict[str, Any]]:
    """The first line of each reset; it lasts until everyone who gave up in it has heard the other side.

    On the air that is one outage, however often requests are repeated.
    """
    begun: list[dict[str, Any]] = []
    over_ns = 0
    for event in events:
        if event["cause"] == "peer":
            continue
        if event["t_ns"] >= over_ns:
            begun.append(event)
        if event["cause"] != "handover":
            heard = (
                line.t_ns
                for line in log
                if line.t_ns > event["t_ns"]
                and (line.entity, line.action) == (_SIDES[event["side"]], "rcv")
                and line.kind in ("UA", "SABM")
            )
            over_ns = max(over_ns, min(heard, default=event["t_ns"]))
    return begun


def _idle(m: Any, results: Any, truth: dict[str, Any]) -> Iterator[Row]:
    path = link_path(m)
    assert path is not None
    side = _SIDES.index(m.entities[path.sender])
    changes = [
        (event["t_ns"], event["what"])
        for event in truth["events"]
        if event["what"] in ("emptied", "filled") and event["side"] == side
    ]
    span = data_spans(m)
    # From the slot behind the last PDU to the slot of the next one.
    true, since = [], None
    for t_ns, what in [*changes, (int(span[-1, 1]), "filled")]:
        if what == "emptied":
            since = t_ns + path.slot_ns
        elif since is not None:
            true.append((since, max(-(-t_ns // path.slot_ns) * path.slot_ns, since)))
            since = None
    sent = np.column_stack([path.sent["t_ns"], path.sent["t_ns"] + path.slot_ns])
    away = handshake_spans(m, handshakes(m))
    idle = subtract(subtract(intersect(intervals(true), span), intervals(sent)), away)
    seconds = total(longer_than(idle, path.tolerance_ns)) / 1e9
    yield "idle time [s]", results["idle_phases"].summary["idle_s"], seconds, 0.02 * total(span) / 1e9
    told = results["utilization"].summary
    sent_bytes, duplicate = told["sent_bytes"], told["duplicate_bytes"]
    value = (1 - seconds / told["available_s"]) * (1 - duplicate / sent_bytes)
    yield "utilization", told["value"], value, 0.02


def competing(analysis: Any, log: list[Line]) -> tuple[int, int, int]:
    """Timeouts; those that came while the bearer carried the data, or its ACK; chains that blame the link.

    The bearer's log alone tells whether the segment's last byte arrived in its first place in the stream
    after the timer expired; or had arrived, and what was sent back then was still being sent again.
    """
    m, results = analysis.measurement, analysis.results
    judged = results["timeouts"].tables["timeouts"]
    path = link_path(m)
    assert path is not None
    spans = m.frame_map.spans.where(m.frame_map.spans["entity"] == path.sender)
    sender = _SIDES.index(m.entities[path.sender])
    forth, back = _receptions(log, _SIDES[1 - sender]), _receptions(log, _SIDES[sender])
    answers = [
        (line.t_ns, int(line.fields["off"]))
        for line in log
        if (line.entity, line.action, line.kind) == (_SIDES[1 - sender], "snd", "I")
        and "try" not in line.fields
    ]
    heard = {begin: when for (begin, _), when in back.items()}
    during = 0
    for t_ns, conn, seq in zip(*(judged[name].tolist() for name in ("t_ns", "conn", "seq")), strict=True):
        copies = spans.where((spans["conn"] == conn) & (spans["seq"] == seq) & (spans["t_ns"] < t_ns))
        if not len(copies):
            continue
        last = int(copies["end"][0])
        arrived = min(
            (when for (_, end), when in forth.items() if last <= end < last + path.payload_bytes), default=0
        )
        stuck = any(
            arrived < sent < t_ns - _STUCK_NS and heard.get(offset, t_ns + 1) > t_ns
            for sent, offset in answers
        )
        during += arrived > t_ns or (arrived > 0 and stuck)
    return len(judged), during, sum(c["kind"] == "link_burst" for c in results["chains"].summary["chains"])


def _receptions(log: list[Line], entity: str) -> dict[tuple[int, int], int]:
    """When an entity received each range of bytes."""
    return {
        (int(line.fields["off"]), int(line.fields["off"]) + int(line.fields["len"])): line.t_ns
        for line in log
        if (line.entity, line.action, line.kind) == (entity, "rcv", "I") and "dup" not in line.fields
    }


def _log(run: Path) -> Iterator[Line]:
    with gzip.open(run / "frames" / "rlp.log.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[0].startswith("#"):
                continue
            seconds, _, fraction = words[0].partition(".")
            fields = dict(word.split("=", 1) for word in words[4:])
            yield Line(int(seconds) * 10**9 + int(fraction), words[1], words[2], words[3], fields)


def _longest(sent: list[Line]) -> float:
    """The longest run of retransmissions without a first transmission between them."""
    longest, begin = 0, None
    for line in sent:
        if "try" not in line.fields:
            begin = None
            continue
        begin = line.t_ns if begin is None else begin
        longest = max(longest, line.t_ns - begin)
    return longest / 1e9


if __name__ == "__main__":
    main(sys.argv[1:])
