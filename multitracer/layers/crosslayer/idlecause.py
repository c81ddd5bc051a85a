"""Why TCP left the link idle: what the sender waited for, read off what ended the wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from multitracer.layers.crosslayer.dozing import held_back
from multitracer.layers.link.resetlog import handshakes
from multitracer.layers.onepoint import one_point
from multitracer.layers.tcp.senderstate import ACK_CLOCK_NS, SenderState
from multitracer.layers.tcp.transit import Times, given_up_ns
from multitracer.layers.vantage import vantage
from multitracer.model.analysis import Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.frozen import frozen
from multitracer.model.idle import LAST_ACK
from multitracer.model.packet_size import FULL_BYTES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

PROBE_RTT_CWND = 4
"""Segments to which BBR reduces cwnd for 200 ms, each ten seconds, to see the RTT of an empty queue."""

PROBE_RTT_LOSS_NS = 1_000_000_000

_SAME_NS = 1_000_000

_FAR = 4096
"""So many identifications further, another counter took them."""

LEAST_APPLICATION = 0.05
"""Share of a transfer's time from which on an application paused at all."""


@frozen
class Cause:
    """Why one idle phase was.

    Attributes
    ----------
    word : str
        One of `multitracer.model.schema.results.IDLE_CAUSES`.
    because : str
        The chain of events, in words.
    conn : int
        Connection that ended the phase; -1 if none.
    wake_record : int
        Segment in the sender's capture that ended it; 0 if none.
    """

    word: str
    because: str
    conn: int = -1
    wake_record: int = 0


class Reasons:
    """What causes are drawn from: the senders' states, timeouts, resets, local drops and power save.

    Parameters
    ----------
    m : Timeline
    slot_ns : int
        How long before a phase the data that ended its predecessor may have left.
    states : sequence of SenderState
        One per connection with data.
    results : mapping of str to Result
        Uses "timeouts", "local_drops" and "flow_control" where present.
    starts_ns : array of int64
        The begins of all phases.
    """

    def __init__(
        self,
        m: Timeline,
        slot_ns: int,
        states: Sequence[SenderState],
        results: Mapping[str, Result],
        starts_ns: Times,
    ) -> None:
        self.m = m
        self.slot_ns = slot_ns
        self.states = states
        self._starts_ns = starts_ns
        self.resets = [(one.start_ns, one.end_ns or one.start_ns) for one in handshakes(m)]
        self.chains: dict[tuple[int, int], tuple[str, str]] = {}
        self.paused: dict[int, bool] = {}
        self._refused_ns: dict[int, int | None] = {}
        self._logged: dict[int, Table] = {}
        self._by_time: dict[int, tuple[Array, Array]] = {}
        self.timeouts = _table(results, "timeouts")
        self.drops = _table(results, "local_drops")
        self.held_back = held_back(m, _table(results, "flow_control"))

    @cached_property
    def _kernel(self) -> Grouped:
        states = self.m.table("tcp_states")
        return Grouped(states["conn"], states["dir"])

    def next_data(self, start_ns: int) -> tuple[SenderState, int] | None:
        """Sender and row of the first data segment after what ended before a phase, within its transfer."""
        of, row = self._next[start_ns]
        return (self.states[of], row) if of >= 0 else None

    @cached_property
    def _next(self) -> dict[int, tuple[int, int]]:
        """For the begin of each phase: the sender of the next data and its row there; -1: none.

        Of data at one time it is that of the first sender.
        """
        never = np.iinfo(np.int64).max
        since_ns = self._starts_ns - self.slot_ns  # the last frame went out then, with all the data there was
        soonest = np.full(len(since_ns), never)
        of, row = np.full(len(since_ns), -1), np.full(len(since_ns), -1)
        spans_ns = np.array([state.span[1] for state in self.states], dtype=np.int64)
        ends_ns = given_up_ns(self.m, [state.connection for state in self.states], spans_ns)
        for place, state in enumerate(self.states):
            sent_ns = state.data["t_ns"]
            sent_ns = sent_ns[: np.searchsorted(sent_ns, ends_ns[place], side="right")]
            at = np.searchsorted(sent_ns, since_ns, side="right")
            next_ns = np.full(len(at), never)
            there = at < len(sent_ns)
            next_ns[there] = sent_ns[at[there]]
            sooner = next_ns < soonest
            soonest[sooner], of[sooner], row[sooner] = next_ns[sooner], place, at[sooner]
        found = zip(of.tolist(), row.tolist(), strict=True)
        return dict(zip(self._starts_ns.tolist(), found, strict=True))

    def had_data(self, state: SenderState, start_ns: int, wake_ns: int) -> bool:
        """Whether the kernel shows that data was waiting throughout an idle phase.

        A sample within it shows this, or one before it, if less was sent since than had been waiting.

        Parameters
        ----------
        state : SenderState
            The sender.
        start_ns : int
            When the idle phase began.
        wake_ns : int
            When the sender resumed sending.
        """
        rows = self._states_of(state)
        t_ns, notsent = rows["t_ns"], rows["notsent"]
        sent = state.data["t_ns"]
        last_ns = int(sent[max(int(np.searchsorted(sent, start_ns, side="right")) - 1, 0)])
        if np.any((notsent > 0) & (t_ns > last_ns) & (t_ns < wake_ns)):
            return True
        before = np.flatnonzero((notsent >= 0) & (t_ns <= last_ns))
        if not len(before):
            return False
        row = before[np.argmax(t_ns[before])]
        # What left about when the sample was made may be in it, or not.
        since = state.snd_nxt(int(t_ns[row]) - self._sample_ns(int(rows["source"][row])))
        return int(notsent[row]) > state.snd_nxt(last_ns) - since

    def _states_of(self, state: SenderState) -> Table:
        """What the kernel logged of a sender; many phases ask for it."""
        one = state.connection
        if one.index not in self._logged:
            self._logged[one.index] = self.m.table("tcp_states").where(
                self._kernel.rows(one.index, one.data_dir)
            )
        return self._logged[one.index]

    def _sample_ns(self, source: int) -> int:
        """How far a time of the kernel's log may be off."""
        return next((one.uncertainty_ns or 0 for one in self.m.clocks if one.source == source), 0)

    def window_full(self, state: SenderState, start_ns: int, outstanding: int) -> bool:
        """Whether the kernel shows that the congestion window had no room for another segment.

        Parameters
        ----------
        state : SenderState
            The sender.
        start_ns : int
            When the idle phase began.
        outstanding : int
            Bytes in flight at its begin.
        """
        rows = self._states_of(state)
        known = rows.where((rows["cwnd"] > 0) & (rows["t_ns"] <= start_ns))
        if not len(known):
            return False
        cwnd = int(known["cwnd"][np.argmax(known["t_ns"])])
        sizes = rows["mss"][rows["mss"] > 0]
        size = int(sizes[-1]) if len(sizes) else int(state.data["length"].max())
        return outstanding > (cwnd - 1) * size

    def application_paused(self, state: SenderState) -> bool:
        """Whether the application can have had nothing to send while data was in flight.

        Without a kernel's log, what limited the connection as its capture shows it (`onepoint`) must have
        some of the application. A phase is judged by itself, and a sender that paces looks like one that
        waits.
        """
        kernel = self._kernel.rows(state.connection.index, state.connection.data_dir)
        if len(kernel) or not state.connection.summaries:
            return True
        index = state.connection.index
        if index not in self.paused:
            limits = one_point(self.m, state.connection, vantage(self.m, state.connection))["limits"]
            self.paused[index] = limits is None or limits["application"] > LEAST_APPLICATION
        return self.paused[index]

    def refused(self, state: SenderState, t_ns: int) -> bool:
        """Whether the sender's own queue had refused segments by then, as IP identifications left out show.

        Of a single capture; where a log of the link has its drops, these are causes of their own.
        """
        one = state.connection
        if one.index not in self._refused_ns:
            self._refused_ns[one.index] = None
            seen = one.summaries[vantage(self.m, one)] if one.summaries and self.drops is None else {}
            if seen.get(("forward", "reverse")[one.data_dir], {}).get("refused"):
                ids = state.data["ip_id"].astype(np.int64)
                step = (ids[1:] - ids[:-1]) & 0xFFFF
                packets = -(-state.data["length"][:-1] // FULL_BYTES)
                (at,) = np.nonzero((step > packets) & (step < _FAR))
                self._refused_ns[one.index] = int(state.data["t_ns"][at[0] + 1]) if len(at) else None
        first_ns = self._refused_ns[one.index]
        return first_ns is not None and first_ns <= t_ns

    def probes_rtt(self, state: SenderState, span_ns: tuple[int, int], lost_ns: int | None) -> bool:
        """Whether the kernel held cwnd at BBR's four segments in a phase, far below what it had been.

        A loss within `PROBE_RTT_LOSS_NS` would explain a small window, too.

        Parameters
        ----------
        state : SenderState
            The sender.
        span_ns : (int, int)
            First and last time of the idle phase.
        lost_ns : int or None
            When data was last retransmitted before it; None if it never was.

        References
        ----------
        draft-ietf-ccwg-bbr, ProbeRTT; `bbr_cwnd_min_target` of Linux.
        """
        if lost_ns is not None and span_ns[0] - lost_ns < PROBE_RTT_LOSS_NS:
            return False
        rows = self._states_of(state)
        known = rows.where(rows["cwnd"] > 0)
        known = known.where(known["t_ns"] <= span_ns[1]).sorted_by("t_ns")
        inside = known["cwnd"][known["t_ns"] >= span_ns[0]]
        held = PROBE_RTT_CWND in (*inside.tolist(), *known["cwnd"][-1:].tolist())
        return held and int(known["cwnd"].max(initial=0)) >= 2 * PROBE_RTT_CWND

    def timeout(self, state: SenderState, row: int) -> int | None:
        """Row of the timeout that sent a segment; None if none did."""
        rows, t_ns = self._timeouts_of(state.connection.index)
        sent_ns = int(state.data["t_ns"][row])
        first, last = np.searchsorted(t_ns, [sent_ns - _SAME_NS, sent_ns + _SAME_NS + 1]).tolist()
        return int(rows[first:last].min()) if last > first else None

    def _timeouts_of(self, conn: int) -> tuple[Array, Array]:
        """Rows of a connection's timeouts and their times, in time order."""
        if conn not in self._by_time:
            rows, t_ns = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
            if self.timeouts is not None:
                rows = np.flatnonzero(self.timeouts["conn"] == conn)
                rows = rows[np.argsort(self.timeouts["t_ns"][rows], kind="stable")]
                t_ns = self.timeouts["t_ns"][rows]
            self._by_time[conn] = rows, t_ns
        return self._by_time[conn]

    def dropped(self, state: SenderState, seq: int) -> bool:
        """Whether a queue dropped this byte."""
        if self.drops is None:
            return False
        mine = self.drops["conn"] == state.connection.index
        covers = (self.drops["seq"] <= seq) & (seq < self.drops["seq"] + self.drops["length"])
        return bool(np.any(mine & covers & (self.drops["dir"] == state.connection.data_dir)))

    def reset_between(self, start_ns: int, end_ns: int) -> int | None:
        """Start of the last link reset that touches a time span; None if none does."""
        hits = [start for start, end in self.resets if start <= end_ns and end >= start_ns]
        return hits[-1] if hits else None

    def seconds(self, t_ns: int) -> str:
        """A time as it is written in a chain."""
        return f"{self.m.seconds(t_ns):.3f} s"


def cause_of(reasons: Reasons, start_ns: int, end_ns: int) -> Cause:
    """The cause of one idle phase.

    The segment that next gave the link data shows what TCP had waited for: timer, ACK, or application.

    Parameters
    ----------
    reasons : Reasons
        What the captures and logs show of senders and receivers.
    start_ns, end_ns : int
        Of the phase, on the reference timeline.
    """
    if not reasons.states:
        return Cause("unknown", "no capture at the sender shows what TCP did")
    waking = reasons.next_data(start_ns)
    if waking is None:
        last = max(reasons.states, key=lambda state: state.span[1])
        conn = last.connection.index
        if asleep := _sleep_words(reasons, last.span[1], (start_ns, end_ns)):
            return Cause("power_save", asleep, conn)
        return Cause("application", LAST_ACK, conn)
    state, row = waking
    word, because = _waited_for(reasons, state, row, (start_ns, end_ns))
    return Cause(word, because, state.connection.index, int(state.data["record"][row]))


def _waited_for(reasons: Reasons, state: SenderState, row: int, span_ns: tuple[int, int]) -> tuple[str, str]:
    start_ns = span_ns[0]
    timeout = reasons.timeout(state, row)
    if timeout is not None:
        return "timeout_wait", _timeout_words(reasons, state, timeout)
    wake_ns = int(state.data["t_ns"][row])
    recovery = state.recovering(start_ns)
    if recovery is not None and state.only_probed(recovery):
        recovery = None
    if recovery is not None or (state.data["duplicate"][row] > 0 and state.repeats_at(wake_ns)):
        begin = recovery[0] if recovery is not None else wake_ns
        key = (state.connection.index, begin)
        if key not in reasons.chains:  # one recovery may explain many phases
            reasons.chains[key] = _recovery(reasons, state, begin)
        return reasons.chains[key]
    since_ack = state.ack_before(wake_ns)
    clocked = since_ack is not None and since_ack <= ACK_CLOCK_NS
    if since_ack is not None and clocked and (asleep := _sleep_words(reasons, wake_ns - since_ack, span_ns)):
        return "power_save", asleep
    edge, nxt = state.right_edge(start_ns), state.snd_nxt(start_ns)
    length = int(state.data["length"][row])
    una = state.snd_una(start_ns)
    if edge is not None and edge - nxt < length:
        return "receiver_window", f"{nxt - una} bytes in flight, window open for {max(edge - nxt, 0)} more"
    # What no ACK released may have waited for one: a tail loss probe may carry new data (RFC 8985, 7.3).
    if state.data["duplicate"][row] > 0:
        return "timeout_wait", f"tail loss probe at {reasons.seconds(wake_ns)}, {nxt - una} bytes in flight"
    waiting, full = (
        reasons.had_data(state, start_ns, wake_ns),
        reasons.window_full(state, start_ns, nxt - una),
    )
    sent_ns = int(state.data["t_ns"][row - 1]) if row else start_ns
    prompted = since_ack is not None and clocked and wake_ns - since_ack > sent_ns
    if waiting and not full and not prompted:
        return "pacing", f"data was waiting, {nxt - una} bytes in flight, and no ACK released what was sent"
    if una >= nxt and not waiting:
        return "application", f"no data until {reasons.seconds(wake_ns)}, though TCP could have sent"
    if reasons.application_paused(state) and not waiting and not full:
        if not clocked:
            return "application", f"no data until {reasons.seconds(wake_ns)}, though TCP could have sent"
        if state.had_room(start_ns, length):
            return "application", f"no data until {reasons.seconds(wake_ns)}, though cwnd had room"
    lost_ns = state.last_retransmission(start_ns)
    if reasons.probes_rtt(state, span_ns, lost_ns):
        return "probe_rtt", f"{nxt - una} bytes in flight, cwnd {PROBE_RTT_CWND} without a loss (ProbeRTT)"
    if lost_ns is None and reasons.refused(state, start_ns):
        return "recovery_stall", "congestion window reduced by segments that the sender's own queue refused"
    if lost_ns is None:
        return "handshake/slow_start", f"{nxt - una} bytes in flight before any loss"
    return "recovery_stall", f"congestion window reduced by the loss repaired at {reasons.seconds(lost_ns)}"


def _recovery(reasons: Reasons, state: SenderState, begin: int) -> tuple[str, str]:
    """Waiting for ACKs during loss recovery, or for the duplicate ACKs that begin it."""
    first = int(np.searchsorted(state.data["t_ns"], begin))
    seq = int(state.data["seq"][first])
    words = f"recovery of byte {seq} from {reasons.seconds(begin)}"
    if reasons.dropped(state, seq):
        return "local_drop", f"{words}, dropped by the queue in front of the link"
    timeout = reasons.timeout(state, first)
    if timeout is not None:
        return "recovery_stall", f"{words}, after {_timeout_words(reasons, state, timeout)}"
    return "recovery_stall", words + _reset_words(reasons, _sent_before(state, seq, begin), begin)


def _timeout_words(reasons: Reasons, state: SenderState, row: int) -> str:
    timeouts = reasons.timeouts
    if timeouts is None:
        return ""
    t_ns, seq = int(timeouts["t_ns"][row]), int(timeouts["seq"][row])
    verdict = str(timeouts.words("verdict")[row])
    words = f"timeout at {reasons.seconds(t_ns)} of byte {seq} ({verdict})"
    if reasons.dropped(state, seq):
        return f"{words}, dropped by the queue in front of the link"
    return words + _reset_words(reasons, _sent_before(state, seq, t_ns), t_ns)


def _reset_words(reasons: Reasons, sent_ns: int, t_ns: int) -> str:
    reset = reasons.reset_between(sent_ns, t_ns)
    return f", after the link reset at {reasons.seconds(reset)}" if reset is not None else ""


def _sleep_words(reasons: Reasons, ack_ns: int, span_ns: tuple[int, int]) -> str:
    """That an ACK waited for the station to wake up through most of a time span; empty if it did not."""
    wait = reasons.held_back.wait(ack_ns, span_ns) if reasons.held_back is not None else None
    if wait is None:
        return ""
    came, awake = (reasons.seconds(t_ns) for t_ns in wait)
    return f"its ACK was at the access point at {came} and waited for the station to wake up at {awake}"


def _sent_before(state: SenderState, seq: int, t_ns: int) -> int:
    """When a byte was last transmitted before a time."""
    covers = (state.data["seq"] <= seq) & (seq < state.data["seq"] + state.data["length"])
    times = state.data["t_ns"][covers & (state.data["t_ns"] < t_ns)]
    return int(times[-1]) if len(times) else t_ns


def _table(results: Mapping[str, Result], name: str) -> Table | None:
    found = results.get(name)
    rows = found.tables.get(name) if found is not None else None
    return rows if rows is not None and len(rows) else None
