"""Chains of cause and effect: from what happened on the link to what TCP did about it to what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.chains.ackloss import ack_loss_chains
from multitracer.diagnosis.chains.acks import ack_chains
from multitracer.diagnosis.chains.calls import call_chains
from multitracer.diagnosis.chains.chain import Chain, Event, chain_columns, event_table
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.found import Chains, Columns
from multitracer.diagnosis.chains.linkwork import burst_chains, xoff_chains
from multitracer.diagnosis.chains.recovery import drop_chains, given_up_chains, queue_chains
from multitracer.diagnosis.chains.resets import reset_chains
from multitracer.diagnosis.chains.standstill import standstill_chains
from multitracer.diagnosis.chains.unexplained import Unexplained
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.chains import CHAIN_EVENTS, CHAIN_LINKS, CHAINS
from multitracer.model.schema.results import IDLE_CAUSES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_BEHIND_LOSS = ("timeout_wait", "recovery_stall", "local_drop")
_AWAITED = ("application", "handshake/slow_start", "unknown")
_SLACK_NS = 50_000_000


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Join events into chains, and charge every idle phase, timeout and retransmission to one of them.

    An episode of loss recovery goes to what first explains it: a drop in front of the link, a link reset, a
    dropped call, a stalled path, ACKs that were lost or late, work of the link on the data that took
    too long, else a loss elsewhere. Idle phases after a loss go with the episode before; others during which
    ACKs were delayed go with these.

    References
    ----------
    Paper 5.2 to 5.5.
    """
    evidence = Evidence(m, results)
    found = _Numbered(evidence)
    links = _charge(evidence, found)
    byte_ns = evidence.byte_ns
    del evidence  # all retransmissions, in the order of connections
    table, events, dropped = found.columns(byte_ns)
    words = table.words("kind")
    summary = {
        "count": len(table),
        "kinds": {kind: int(np.count_nonzero(words == kind)) for kind in sorted(set(words.tolist()))},
        "idle_s": round(int(table["idle_ns"].sum()) / 1e9, 6),
        "byte_us": round(byte_ns / 1e3, 6),
        "chains": Chains(Columns([source.path for source in m.sources], m.t0_ns, table, events, dropped)),
    }
    return Result("chains", summary, {"chains": table, "chain_events": events, "chain_links": links})


class _Numbered:
    """All chains in order of time: of recoveries, of late ACKs, and those without either.

    Attributes
    ----------
    objects : dict of int to Chain
        Those that something explains, by number.
    others : Unexplained
        Recoveries that nothing explains.
    numbers : array of int64
        The numbers of these.
    held : list of Chain
        Late ACKs; their numbers follow on those of `objects` and `others` together.
    first_held : int
        The number of the first of these.
    """

    def __init__(self, evidence: Evidence) -> None:
        drops, left = drop_chains(evidence, evidence.episodes)
        resets, left = reset_chains(evidence, left)
        calls, left = call_chains(evidence, left)
        still, left = standstill_chains(evidence, left)
        acks, left = ack_loss_chains(evidence, left)
        bursts, left = burst_chains(evidence, left)
        explained = [*drops, *resets, *calls, *still, *bursts, *acks]
        lost, others, places = given_up_chains(evidence, left)
        self.others = Unexplained(evidence, evidence.episodes.places(others))
        # Of chains that begin at the same time, those recoveries come last, in their own order.
        apart = np.ones(len(left), dtype=np.bool_)
        apart[places] = False
        rank = np.concatenate([np.arange(-len(explained), 0), np.flatnonzero(~apart), np.flatnonzero(apart)])
        charged = [*explained, *lost]
        begin = np.concatenate([np.array([one.t_ns for one in charged], dtype=np.int64), self.others.t_ns])
        number = np.empty(len(begin), dtype=np.int64)
        number[np.lexsort((rank, begin))] = np.arange(1, len(begin) + 1)
        self.numbers: Array = number[len(charged) :]
        self.objects = dict(sorted(zip(number[: len(charged)].tolist(), charged, strict=True)))
        self.first_held = len(begin) + 1
        self.held = sorted(ack_chains(evidence), key=lambda one: one.t_ns)
        self._beside = sorted([*queue_chains(evidence), *xoff_chains(evidence)], key=lambda one: one.t_ns)
        self._place_of = np.empty(self.first_held, dtype=np.int64)
        self._place_of[self.numbers] = np.arange(len(self.numbers))

    def idle(self, number: int, start: int, end: int, rule: str, source: int, record: int, conn: int) -> None:
        """Charge an idle phase to a chain.

        Parameters
        ----------
        number : int
            The chain.
        start, end : int
            The phase.
        rule : str
            Why it belongs there.
        source, record, conn : int
            What shows it.
        """
        chain = self.objects.get(number)
        if chain is None and number >= self.first_held:
            chain = self.held[number - self.first_held]
        if chain is None:
            place = int(self._place_of[number])
            self.others.idle(place, start, end, rule, source, record, conn)
            return
        chain.idle_ns += end - start
        parent = len(chain.events)
        chain.add(Event("idle", start, rule, parent, end_ns=end, source=source, record=record, conn=conn))

    def columns(self, byte_ns: float) -> tuple[Table, Table, Array]:
        """The tables `CHAINS` and `CHAIN_EVENTS`, and what of each chain the link never carried before."""
        objects = [*self.objects.values(), *self.held, *self._beside]
        behind = range(self.first_held, self.first_held + len(self.held) + len(self._beside))
        numbers, others = [*self.objects, *behind], self.others
        events = _in_order([event_table(objects, numbers), others.take_events(self.numbers)])
        at = np.append(np.array(numbers, dtype=np.int64), self.numbers) - 1
        loss = np.full(len(others), CHAINS.code("kind", "loss"))
        own = {"kind": loss, **others.columns()}
        given = {}
        for name, values in chain_columns(objects).items():
            column = given[name] = np.zeros(len(at), dtype=np.int64)
            column[at] = np.append(values, own.get(name, np.zeros(len(others), dtype=np.int64)))
        end_ns, of = given["t_ns"].copy(), events["chain"] - 1
        np.maximum.at(end_ns, of, np.maximum(events["t_ns"], events["end_ns"]))
        dropped = given.pop("dropped")
        cost_ns = given["idle_ns"] + np.rint((given["duplicate"] - dropped) * byte_ns).astype(np.int64)
        given |= {"chain": np.arange(1, len(at) + 1), "end_ns": end_ns, "cost_ns": cost_ns}
        given["events"] = np.bincount(of, minlength=len(at))
        return Table.filled(CHAINS, len(at), given), events, dropped


def _in_order(tables: Sequence[Table]) -> Table:
    """Events chain by chain."""
    joined = Table.concat(CHAIN_EVENTS, tables)
    del tables  # of which it is a copy
    ordered = joined.reordered(np.lexsort((joined["event"], joined["chain"])))
    for name in ordered:
        _ = ordered[name]  # moves there, so that nothing is held twice
    return ordered


def _charge(evidence: Evidence, found: _Numbered) -> Table:
    """Which chain each idle phase, timeout and repeat belongs to."""
    episodes = evidence.episodes
    number_of = _charged(evidence, found)  # by episode
    parts = []
    timeouts = evidence.rows("timeouts")
    if timeouts is not None:
        mine = _number_at(number_of, episodes.having(timeouts["conn"], timeouts["record"]))
        parts.append(("timeout", timeouts["t_ns"], timeouts["record"], mine))
    phases = evidence.rows("idle_phases")
    if phases is not None:
        idle = _charge_idle(evidence, found, number_of, phases)
        parts.append(("idle", phases["t_ns"], phases["wake_record"], idle))
    # By far the most, and therefore made last.
    table, (rows, of) = episodes.of.table, episodes.rows(np.arange(len(episodes)))
    parts.insert(0, ("repeat", table["t_ns"][rows], table["record"][rows], number_of[of]))
    del rows, of
    what, t_ns, record, chain = zip(*parts, strict=True)
    given = {
        "what": np.repeat(np.array(what, dtype=object), [len(one) for one in t_ns]),
        "t_ns": np.concatenate(t_ns),
        "record": np.concatenate(record),
        "chain": np.concatenate(chain),
    }
    return Table.filled(CHAIN_LINKS, len(given["t_ns"]), given)


def _number_at(number_of: Array, places: Array) -> Array:
    """The number of the chain of each episode, 0 where there is none."""
    return np.append(number_of, 0)[places]


def _charged(evidence: Evidence, found: _Numbered) -> Array:
    """The number of the chain that each episode is in: the last one with the packet that began it."""
    number_of = np.zeros(len(evidence.episodes), dtype=np.int64)
    if evidence.source is None:
        return number_of
    events = event_table([*found.objects.values()], [*found.objects])
    conn_of = np.zeros(found.first_held, dtype=np.int64)
    for number, one in found.objects.items():
        conn_of[number] = one.conn
    conn_of[found.numbers] = found.others.conn
    others = found.others.recoveries
    for table, numbers in ((events, events["chain"]), (others, found.numbers[others["chain"]])):
        own = table["source"] == evidence.source
        chain = numbers[own]
        begun = evidence.episodes.begun_by(conn_of[chain], table["record"][own])
        np.maximum.at(number_of, begun[begun >= 0], chain[begun >= 0])
    return number_of


def _charge_idle(evidence: Evidence, found: _Numbered, number_of: Array, phases: Table) -> Array:
    """The number of the chain of each idle phase, which is charged to it; 0: none."""
    episodes = evidence.episodes
    numbers = _number_at(number_of, episodes.having(phases["conn"], phases["wake_record"]))
    source = _source_of(evidence)
    columns = ("t_ns", "end_ns", "conn", "frame_record", "cause")
    for row, (start, end, conn, frame, code) in enumerate(
        zip(*(phases[name].tolist() for name in columns), strict=True)
    ):
        cause = IDLE_CAUSES[code]
        number = int(numbers[row])
        if not number and cause in _BEHIND_LOSS:
            before = episodes.before(conn, end + _SLACK_NS)
            number = int(number_of[before]) if before >= 0 else 0
        elif not number and cause in _AWAITED:
            held = enumerate(found.held, found.first_held)
            number = next((n for n, one in held if _behind(one, start, end)), 0)
        if number:
            found.idle(number, start, end, f"the link had nothing to send: {cause}", source, frame, conn)
        numbers[row] = number
    return numbers


def _behind(chain: Chain, start: int, end: int) -> bool:
    """Whether ACKs were delayed during most of an idle phase."""
    until = chain.events[0].t_ns
    return 2 * (min(end, until) - max(start, chain.t_ns)) > end - start


def _source_of(evidence: Evidence) -> int:
    frames = evidence.m.table("link_frames")
    return int(frames["source"][0]) if len(frames) else -1


ANALYZER = Analyzer(
    name="chains",
    question="Which events caused which, from the link to TCP, and what did each chain cost?",
    run=run,
    **QUESTIONS["chains"]._asdict(),
)
