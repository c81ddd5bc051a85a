"""Chains of cause and effect: from what happened on the link to what TCP did about it to what it cost."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.chains.ackloss import ack_loss_chains
from multitracer.diagnosis.chains.acks import ack_chains
from multitracer.diagnosis.chains.calls import call_chains
from multitracer.diagnosis.chains.chain import Chain, Event, chain_table, event_table
from multitracer.diagnosis.chains.evidence import Episode, Evidence
from multitracer.diagnosis.chains.linkwork import burst_chains, xoff_chains
from multitracer.diagnosis.chains.recovery import drop_chains, loss_chains, queue_chains
from multitracer.diagnosis.chains.resets import reset_chains
from multitracer.diagnosis.chains.standstill import standstill_chains
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.chains import CHAIN_LINKS
from multitracer.model.schema.results import IDLE_CAUSES
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

_BEHIND_LOSS = ("timeout_wait", "recovery_stall", "local_drop")
_AWAITED = ("application", "handshake/slow_start", "unknown")
_SLACK_NS = 50_000_000


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Join events into chains, and charge every idle phase, timeout and retransmission to one of them.

    An episode of loss recovery goes to what first explains it: a drop in front of the link, a link reset, a
    dropped call, a path that stood still, ACKs that were lost or late, work of the link on the data that took
    too long, else a loss elsewhere. Idle phases behind a loss go with the episode before; others during which
    ACKs were held up go with these.

    References
    ----------
    Paper 5.2 to 5.5.
    """
    evidence = Evidence(m, results)
    drops, left = drop_chains(evidence, evidence.episodes)
    resets, left = reset_chains(evidence, left)
    calls, left = call_chains(evidence, left)
    still, left = standstill_chains(evidence, left)
    acks, left = ack_loss_chains(evidence, left)
    bursts, left = burst_chains(evidence, left)
    found = [*drops, *resets, *calls, *still, *bursts, *acks, *loss_chains(evidence, left)]
    charged = sorted(found, key=lambda one: one.t_ns)
    held = sorted(ack_chains(evidence), key=lambda one: one.t_ns)
    links = _charge(evidence, charged, held)
    beside = sorted([*queue_chains(evidence), *xoff_chains(evidence)], key=lambda one: one.t_ns)
    chains = [*charged, *held, *beside]
    table, events, byte_ns = chain_table(chains, evidence.byte_ns), event_table(chains), evidence.byte_ns
    del evidence, drops, resets, calls, still, acks, bursts, found, charged, held, beside, left
    words = table.words("kind")
    summary = {
        "count": len(table),
        "kinds": {kind: int(np.count_nonzero(words == kind)) for kind in sorted(set(words.tolist()))},
        "idle_s": round(int(table["idle_ns"].sum()) / 1e9, 6),
        "byte_us": round(byte_ns / 1e3, 6),
        "chains": _words(m, chains, table),
    }
    return Result("chains", summary, {"chains": table, "chain_events": events, "chain_links": links})


def _charge(evidence: Evidence, chains: list[Chain], held: list[Chain]) -> Table:
    """Which chain each idle phase, timeout and repeat belongs to; `held` are numbered behind the others."""
    by_repeat: dict[int, dict[int, int]] = {one.conn: {} for one in evidence.episodes}
    for number, chain in enumerate(chains, 1):
        for episode in _episodes_of(evidence, chain):
            by_repeat[episode.conn].update(dict.fromkeys(episode.values("record"), number))
    times, records, numbers = array("q"), array("q"), array("q")
    for episode in evidence.episodes:
        repeated = episode.values("record")
        times.extend(episode.values("t_ns"))
        records.extend(repeated)
        numbers.extend(map(by_repeat[episode.conn].get, repeated, repeat(0)))
    what = ["repeat"] * len(times)
    timeouts = evidence.rows("timeouts")
    fired = []
    if timeouts is not None:
        for t_ns, record, conn in zip(
            *(timeouts[n].tolist() for n in ("t_ns", "record", "conn")), strict=True
        ):
            fired.append(("timeout", t_ns, record, by_repeat.get(conn, {}).get(record, 0)))
    for word, t_ns, record, number in (*fired, *_charge_idle(evidence, chains, held, by_repeat)):
        what.append(word)
        times.append(t_ns)
        records.append(record)
        numbers.append(number)
    given = {
        "what": np.array(what, dtype=object),
        "t_ns": np.array(times),
        "record": np.array(records),
        "chain": np.array(numbers),
    }
    return Table.filled(CHAIN_LINKS, len(what), given)


def _charge_idle(
    evidence: Evidence, chains: list[Chain], held: list[Chain], by_repeat: dict[int, dict[int, int]]
) -> list[tuple[str, int, int, int]]:
    phases = evidence.rows("idle_phases")
    if phases is None:
        return []
    found = []
    every = [*chains, *held]
    starts = {conn: [one.start_ns for one in all_of] for conn, all_of in evidence.episodes_by.items()}
    source = _source_of(evidence)
    columns = ("t_ns", "end_ns", "conn", "wake_record", "frame_record", "cause")
    for start, end, conn, wake, frame, code in zip(*(phases[name].tolist() for name in columns), strict=True):
        cause = IDLE_CAUSES[code]
        mine = by_repeat.get(conn, {})
        number = mine.get(wake, 0)
        if not number and cause in _BEHIND_LOSS:
            before = bisect_right(starts.get(conn, []), end + _SLACK_NS)
            if before:
                last = evidence.episodes_by[conn][before - 1]
                number = mine.get(last.first_record, 0)
        elif not number and cause in _AWAITED:
            number = next((n for n, one in enumerate(held, len(chains) + 1) if _behind(one, start, end)), 0)
        if number:
            chain = every[number - 1]
            chain.idle_ns += end - start
            chain.add(
                Event(
                    "idle",
                    start,
                    f"the link had nothing to send: {cause}",
                    len(chain.events),
                    end_ns=end,
                    source=source,
                    record=frame,
                    conn=conn,
                )
            )
        found.append(("idle", start, wake, number))
    return found


def _behind(chain: Chain, start: int, end: int) -> bool:
    """Whether ACKs were held up during most of an idle phase."""
    until = chain.events[0].t_ns
    return 2 * (min(end, until) - max(start, chain.t_ns)) > end - start


def _episodes_of(evidence: Evidence, chain: Chain) -> list[Episode]:
    """The episodes whose retransmissions are in a chain."""
    records = dict.fromkeys(event.record for event in chain.events if event.source == evidence.source)
    begun = (evidence.begun_by.get((chain.conn, record)) for record in records)
    return [one for one in begun if one is not None]


def _source_of(evidence: Evidence) -> int:
    frames = evidence.m.table("link_frames")
    return int(frames["source"][0]) if len(frames) else -1


def _words(m: Timeline, chains: list[Chain], table: Table) -> list[dict[str, Any]]:
    """The chains for the summary; the list is empty after it, as each of them is there once."""
    paths, t0_ns = [source.path for source in m.sources], m.t0_ns
    chains.reverse()
    taken = (chains.pop() for _ in range(len(chains)))
    rows = zip(taken, table["end_ns"].tolist(), table["cost_ns"].tolist(), strict=True)
    return [
        {
            "chain": number,
            "kind": chain.kind,
            "start": round(float(chain.t_ns - t0_ns) / 1e9, 6),
            "end": round(float(end_ns - t0_ns) / 1e9, 6),
            "conn": chain.conn if chain.conn >= 0 else None,
            "idle_s": round(chain.idle_ns / 1e9, 6) if chain.idle_ns else 0.0,
            "held_s": round(chain.held_ns / 1e9, 6) if chain.held_ns else 0.0,
            "duplicate_bytes": chain.duplicate,
            "dropped_bytes": chain.dropped,
            "cost_s": round(cost_ns / 1e9, 6),
            "silence_s": round(chain.silence_ns / 1e9, 6) if chain.silence_ns else 0.0,
            "events": [_event(t0_ns, paths, place, event) for place, event in enumerate(chain.events, 1)],
        }
        for number, (chain, end_ns, cost_ns) in enumerate(rows, 1)
    ]


def _event(t0_ns: int, paths: list[str], number: int, event: Event) -> dict[str, Any]:
    what, t_ns, rule, parent, end_ns, source, record, _, seq, length, frames, several, wait_ns, cause = event
    return {
        "event": number,
        "parent": parent or None,
        "what": what,
        "t": round(float(t_ns - t0_ns) / 1e9, 6),
        "end": round(float(end_ns - t0_ns) / 1e9, 6) if end_ns >= 0 else None,
        "source": paths[source] if source >= 0 else None,
        "record": record or None,
        "seq": seq if seq >= 0 else None,
        "length": length if length >= 0 else None,
        "frames": frames or None,
        "number": several,
        "wait_s": round(wait_ns / 1e9, 6) if wait_ns >= 0 else None,
        "cause": cause or None,
        "rule": rule,
    }


ANALYZER = Analyzer(
    name="chains",
    question="What led to what, from the link to TCP, and what did each chain cost?",
    run=run,
    **QUESTIONS["chains"]._asdict(),
)
