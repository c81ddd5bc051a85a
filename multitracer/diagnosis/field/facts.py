"""The facts of a connection that sentences are made of; what its entry does not have is None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.idle import LAST_ACK_NAME
from multitracer.model.packet_size import INITIAL_SEGMENTS
from multitracer.output.rtt import HOST_MS

Object = Mapping[str, Any]

FILLED = 0.9
"""A link that was full for this part of the time was full for nearly all of it."""

MOSTLY_PACED = 0.5
"""From this part of the time of a congestion window on in which it had room, it is the sender's pace.

Less may be ACKs that were lost or late."""

FULL = 0.5
"""A link that was full for this part of the time in which the network was the limit is the cause of it."""

REORDERED = 0.1
OVERTAKEN = 2
"""From this part of the segments on, and so many for each retransmission, reordering hides recoveries."""

QUEUE_MS = 30.0
QUEUE_TIMES = 3.0
"""A queue is a standing one if it adds this much to the RTT, and makes it this many times the base RTT."""

JITTER_TIMES = 6.0
"""From this many times the base RTT on, jitter of the path is but a small part of what is more."""


NAGLE = "Nagle's algorithm"
"""What held the ends of requests or responses until all before them was acknowledged."""

OPENING = "slow start"
"""What the congestion window took before the first loss, no longer than slow start lasts."""

IN_A_STANDSTILL = (
    "unknown",
    "loss_recovery",
    "congestion_window",
    LAST_ACK_NAME,
    "bandwidth",
    "receiver_window",
    OPENING,
    NAGLE,
    "application",
)
"""What a sender seems to wait for while its path is stalled, the likeliest first."""


@frozen
class KernelCounts:
    """What the sender's kernel counted.

    Attributes
    ----------
    retransmissions : int or None
        At its last sample.
    dropped : int or None
        Packets that its own queue dropped, by the kernel's log; None if it was not recorded or dropped none.
    refused : int or None
        Retransmissions that its own queue refused: in `retransmissions` they are left out. None if unknown.
    """

    retransmissions: int | None = None
    dropped: int | None = None
    refused: int | None = None


@frozen
class Flow:
    """One connection that carried data, as its entry has it.

    Attributes
    ----------
    index : int
    name : str
        Both ends, and which way the data went.
    source, point : str or None
        The capture, and where it was taken: "snd", "rcv", "mid", or None while that is unknown.
    unique_bytes, data_segments : int
    seconds : float or None
        The transfer: handshake, and first data to last ACK.
    limits_s : dict of str to float
        Seconds by `LIMITS`; empty where they are unknown.
    kernel : bool
        Whether the kernel reported it.
    retransmissions, rto, fast, slow_start, tail_loss_probe : int
        Segments, by cause.
    fast_or_slow_start, probe_or_timeout : int
        Of those, fast retransmits that may be slow start, and tail loss probes that may be timeouts.
    timeouts, spurious : int
        Expiries of the retransmission timer, and how many of them were spurious.
    corrupted : int
        Segments that failed their checksum: lost to the receiver's TCP.
    upstream, downstream : int or None
        Segments lost before and after the capture.
    rate_bps, full_share : float or None
        Of the bottleneck; the share of the time with data in flight in which it was full.
    rate_exact : bool
        Whether that is its rate within a few percent: not where jitter spreads the rates, nor by a queue.
    queue_ms : tuple of float or None
        Median and 95th percentile of what the queue added to the RTT.
    base_rtt_ms, full_base_ms : float or None
        The smallest RTT, and that of a full segment, which the queue adds to.
    median_ms : float or None
        Median RTT of the whole path, as the entry has it.
    base_at_most : bool
        Whether that is but an upper bound.
    opener_away : bool
        Whether a path is between this capture and the end that opened the connection: SYNs lost there do not
        show.
    shared_with : int
        Other connections that queue at the same place.
    zero_windows, window_probes, max_window_bytes : int
    sender, receiver : str
        Addresses.
    start_s, end_s : float
        First and last segment.
    answered : bool
        Whether both directions were captured.
    unseen_retransmissions : int
        Retransmissions that were lost before this capture as well, by IP identifications.
    kernel_retransmissions : int or None
        By the kernel's own counter, at its last sample; with those that its own queue refused, unless a
        recording of the host shows how many these were.
    kernel_drops : int or None
        Packets that the sender's own queue dropped, by the kernel's log.
    certain_lost : int or None
        Data segments that passed the sender's capture and never the receiver's; None without both.
    complete : bool
        Whether the capture dropped no packet that passed it, as far as its file shows.
    guessed : bool
        Whether the observation point is a guess: nothing follows from it then.
    most_downstream : int
        Upper bound of what was lost after the capture (`multitracer.output.losses`).
    in_flight, at_reset : int
        Segments not acknowledged when the capture ends, or a RST the connection: nothing is known of them.
    wire_segments : int
        Data segments on the wire, with those known to be lost before the capture.
    divided : bool
        Whether their number is that of super-segments divided, and may be off by some.
    needless : int
        Segments retransmitted of which an earlier copy had reached the receiver.
    reordered : int
        Segments that the network reordered before they passed the capture.
    kernel_refused : int or None
        Retransmissions that the sender's own queue refused, by the kernel's counter.
    closures : tuple of int, float and float, or None
        How often the receiver closed its window, and for how many seconds at most and in all; None where the
        ACKs were not kept.
    syn_timeouts : int
        Expiries of the timer of a SYN: it, or each SYN+ACK that answered it until then, was lost.
    syns_again : int
        Of `retransmissions`, those of its SYN.
    refused : int
        Segments that the sender's own queue refused, at least, by IP identifications left out.
    possible : int
        Segments in order that may be retransmissions (`losses.possible`).
    some_missing : bool
        Whether retransmissions may be missing here: each count of them is a lower bound then.
    writes_bps : float or None
        Rate at which the application wrote by its own clock, where its writes show one.
    behind_s : float
        Of its time, what data that it had written had to wait before TCP caught up.
    acks_lost : int or None
        ACKs that were lost before the capture, by the IP identifications left out; None if these do not show
        it.
    acks : int
        Segments that came back.
    restarts, idle_times : int
        Idle times after which the sender began again with a small congestion window, of those that show it.
    restart_bytes : int
        What it sent at once then.
    window_scaling : str or None
        ``agreed``, ``not_offered`` or ``refused``; None where that was not captured.
    without_sack, timestamps : bool
        Whether the handshake shows that SACK is not in use; whether the segments have timestamps.
    seldom_timed : str
        The remark on its queueing delay, where most of its data measured no RTT.
    queues_before : bool
        Whether its data waited in the sender's own queue before the capture, which no RTT shows.
    link_hidden : bool
        Whether a full link before the capture may not show: no rate does, and no timestamps show a queue.
    silent_s : float
        Of the seconds of loss recovery, those in which nothing was sent for so long that it was a timer, or,
        as no timestamps show, a path that stalled before the capture.
    unacked_timeouts : int
        Timeouts of data that had arrived: every ACK of it was lost.
    stalls_s, silences_s : tuple of float
        How long each stall of its path lasted, in order, and at most.
    stalls_passed : int
        Packets that came in the middle of them, all the same.
    carried_on_s : float
        Of all that, the time in which its link continued.
    stalled_before : bool
        Whether all of them were in front of the capture.
    stalled_by_order : bool
        Whether one of them shows, without timestamps, only by the order of what came after it.
    exchanges : mapping or None
        Requests and responses, as `connections[].exchanges` has them.
    halves_ms : tuple of float or None
        Smallest RTT from the capture to the receiver of the data, and to its sender.
    reductions : int
        How often the sender signalled that it reduced its congestion window for a mark (ECN, RFC 3168).
    acks_share : float or None
        Of what queues added to its RTT, the part that its ACKs waited between the receiver and the capture.
    data_share : float or None
        The part of it that its data waited.
    rates_bps : tuple of float or None
        The least and the most of a link that has more rates than one (IP packets); it has no `rate_bps` then.
    policer : mapping or None
        The policer that most of what was lost looks like, as `connections[].policer` has it.
    goodput_bps : float or None
        Acknowledged payload, each byte once, from the first data segment to the last ACK.
    before_data_s : float
        Of the seconds of loss recovery, those before the first data that passed: everything sent until then
        was lost.
    until_data_s : float
        Between the handshake and the first data of either end, which is no part of its time.
    nagle_s : float
        Of the seconds of the application, those in which Nagle's algorithm held the ends of what it wrote.
    paced_s : float
        Of the seconds of the congestion window, those in which it had room, if they are most of them: the
        sender paced itself.
    before_loss_s, after_data_s, window_in_recovery_s, window_paced_s : float
        Of the seconds of the congestion window, those before the first loss showed, and those after the last
        data segment; of loss recovery, those in which the receiver's window had no room either; of that
        window, those in which it had room: the sender waited for more of it, or paced itself.
    link_known : bool
        Whether what several brought together shows the rate of a full link: `full_share` then is of the
        time in which that was reached, by however many.
    """

    index: int
    name: str
    source: str | None
    point: str | None
    unique_bytes: int
    data_segments: int
    seconds: float | None
    limits_s: dict[str, float]
    kernel: bool
    retransmissions: int
    rto: int
    fast: int
    slow_start: int
    tail_loss_probe: int
    timeouts: int
    spurious: int
    corrupted: int
    upstream: int | None
    downstream: int | None
    rate_bps: float | None
    full_share: float | None
    queue_ms: tuple[float, float] | None
    base_rtt_ms: float | None
    shared_with: int
    zero_windows: int
    window_probes: int
    max_window_bytes: int
    sender: str
    receiver: str
    start_s: float
    end_s: float
    answered: bool
    fast_or_slow_start: int = 0
    probe_or_timeout: int = 0
    unseen_retransmissions: int = 0
    kernel_retransmissions: int | None = None
    kernel_drops: int | None = None
    certain_lost: int | None = None
    complete: bool = True
    guessed: bool = False
    most_downstream: int = 0
    in_flight: int = 0
    at_reset: int = 0
    wire_segments: int = 0
    divided: bool = False
    needless: int = 0
    reordered: int = 0
    kernel_refused: int | None = None
    closures: tuple[int, float, float] | None = None
    link_known: bool = False
    rate_exact: bool = True
    syn_timeouts: int = 0
    syns_again: int = 0
    refused: int = 0
    possible: int = 0
    some_missing: bool = False
    writes_bps: float | None = None
    behind_s: float = 0.0
    acks_lost: int | None = None
    acks: int = 0
    restarts: int = 0
    idle_times: int = 0
    restart_bytes: int = 0
    window_scaling: str | None = None
    without_sack: bool = False
    timestamps: bool = True
    unacked_timeouts: int = 0
    seldom_timed: str = ""
    queues_before: bool = False
    link_hidden: bool = False
    silent_s: float = 0.0
    stalls_s: tuple[float, ...] = ()
    carried_on_s: float = 0.0
    stalled_before: bool = False
    stalled_by_order: bool = False
    silences_s: tuple[float, ...] = ()
    stalls_passed: int = 0
    exchanges: Object | None = None
    halves_ms: tuple[float | None, float | None] = (None, None)
    goodput_bps: float | None = None
    acks_share: float | None = None
    data_share: float | None = None
    policer: Object | None = None
    queue_at_losses: Object | None = None
    rates_bps: tuple[float, float] | None = None
    reductions: int = 0
    before_data_s: float = 0.0
    until_data_s: float = 0.0
    nagle_s: float = 0.0
    before_loss_s: float = 0.0
    after_data_s: float = 0.0
    window_in_recovery_s: float = 0.0
    window_paced_s: float = 0.0
    paced_s: float = 0.0
    median_ms: float | None = None
    base_at_most: bool = False
    opener_away: bool = False
    full_base_ms: float | None = None

    @property
    def rtt_ms(self) -> float | None:
        """Median RTT of the whole path; None where it is unknown."""
        if self.base_rtt_ms is None or self.queue_ms is None:
            return None
        # Where the base RTT is an upper bound, the queue is a lower one, and both are less than the median.
        return self.base_rtt_ms + self.queue_ms[0] if self.median_ms is None else self.median_ms

    @property
    def slow_start_s(self) -> float:
        """The most that slow start takes: an RTT for each doubling up to all data; 0 if unknown."""
        if self.base_rtt_ms is None or not self.data_segments:
            return 0.0
        rtt_s = (self.base_rtt_ms if self.rtt_ms is None else self.rtt_ms) / 1e3
        return rtt_s * (1 + math.log2(1 + self.data_segments / INITIAL_SEGMENTS))

    @cached_property
    def stalled_s(self) -> float:
        """Seconds of its time in which its path was stalled, and its link carried nothing either."""
        most_s = sum(self.limits_s.get(name, 0.0) for name in IN_A_STANDSTILL)
        return min(max(sum(self.stalls_s) - self.carried_on_s, 0.0), most_s)

    @property
    def data_retransmissions(self) -> int:
        """Retransmissions without those of its SYN."""
        return max(self.retransmissions - self.syns_again, 0)

    @property
    def recovery_at_most(self) -> bool:
        """Whether its time of loss recovery is but an upper bound.

        Away from the sender duplicate ACKs of what the network reordered look like those of a loss: which
        of them opened a recovery does not show where far more was reordered than retransmitted.
        """
        many = self.reordered >= max(REORDERED * self.data_segments, OVERTAKEN * self.retransmissions)
        return many and self.reordered > 0 and self.point != "snd"

    @property
    def window_exactly(self) -> str:
        """``at most`` or ``about`` before its time of the congestion window, or nothing.

        Where the sender mostly waited for others, that does not show when. What a writer had not given it is
        its own wait; where the receiver's window took over is known roughly. Nor does the end of slow start
        show where a full link may be hidden.
        """
        if self.link_hidden:
            return "at most "
        if self.point != "snd" and not self.kernel:
            for name, words in (("application", "at most "), ("receiver_window", "about ")):
                if 2 * self.limits_s.get(name, 0.0) > (self.seconds or 0.0):
                    return words
        return ""

    @property
    def shared(self) -> bool:
        """Whether other connections queue at the same place."""
        return self.shared_with > 0

    @cached_property
    def busy_s(self) -> float:
        """Seconds with data in flight: without handshake, pauses of the application and what is unknown."""
        away_s = sum(self.limits_s.get(name, 0.0) for name in ("application", "handshake", "unknown"))
        return max((self.seconds or 0.0) - away_s, 0.0)

    @property
    def link_had_room(self) -> bool:
        """Whether the rate of the link that it shares is known, and was seldom reached in its time."""
        return self.link_known and (self.full_share or 0.0) < FULL

    @property
    def in_a_full_link(self) -> bool:
        """Whether what several brought together shows that their link was full for nearly all the time."""
        return self.link_known and (self.full_share or 0.0) >= FILLED

    @property
    def lost(self) -> int | None:
        """Segments lost: by both captures, else on either side of the one; None where that is unknown."""
        if self.certain_lost is not None:
            return (self.upstream or 0) + self.certain_lost
        if self.upstream is None and self.downstream is None:
            return None
        # What a spurious timeout retransmitted had not been lost.
        needless = (
            self.timeouts > 0 and self.spurious == self.timeouts and not (self.fast or self.tail_loss_probe)
        )
        return self.least_before + (0 if needless else self.downstream or 0)

    @property
    def least_before(self) -> int:
        """Segments lost before the capture, at least, or damaged: then no other copy had passed either."""
        return max(self.upstream or 0, 0 if self.point == "snd" else self.corrupted)

    @property
    def discarded(self) -> int:
        """Segments that the receiver's host discarded after they had passed the capture there."""
        return self.most_downstream if self.point == "rcv" and not self.guessed else 0

    @property
    def sent(self) -> int:
        """Data segments that the sender put on the wire: those seen, and those lost before the capture."""
        return max(self.wire_segments, self.data_segments + (self.upstream or 0))

    @property
    def own_drops(self) -> int:
        """Segments that the sender's own queue dropped: they never reached the capture next to it.

        Where the kernel counted more retransmissions than passed, at least these were dropped or refused.
        """
        if self.kernel_drops is not None:
            return self.kernel_drops
        refused = self.refused if self.complete else 0
        if self.point != "snd" or self.guessed or not self.complete:
            return refused
        # A host answers itself within this: what is farther away is behind a bridge, or a path.
        if (self.halves_ms[1] or 0.0) > HOST_MS:
            return refused
        unseen = self.upstream or max((self.kernel_retransmissions or 0) - self.retransmissions, 0)
        return max(refused, unseen)

    @property
    def has_queue(self) -> bool:
        """Whether there was a standing queue that is worth a sentence."""
        return self.queue_ms is not None and self.queue_ms[0] >= QUEUE_MS and self.is_mostly_queue

    @property
    def hardly_jitters(self) -> bool:
        """Whether what the median RTT has more than the base RTT is a queue, but for a small part."""
        rtt_ms = self.rtt_ms
        longer = rtt_ms is not None and rtt_ms >= JITTER_TIMES * (self.base_rtt_ms or 0.0)
        return longer or self.has_queue

    @property
    def is_mostly_queue(self) -> bool:
        """Whether the median RTT is so many times the base RTT that what it has more is no jitter."""
        rtt_ms = self.rtt_ms
        return rtt_ms is not None and rtt_ms >= QUEUE_TIMES * (self.base_rtt_ms or 0.0)
