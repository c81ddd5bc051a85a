"""What the measurements of DCCP over a WLAN tell, beside ours in simulated time."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from published import Finding, Interval, Row, interval, where

from multitracer.analyzers._tfrc import throughput_bps

OVERFLOWS_MS = 1000.0
"""An RTT that only a queue which is nearly full gives: what is lost then is lost in the queue."""
BY_HAND = (throughput_bps(1400, 0.4, 0.002) or 0.0) / 1e3


def findings(rows: Sequence[Row]) -> list[Finding]:
    """The graphs (they have no numbers: the section is given) and what the text says of them, in its order."""
    return [*_growth(rows), *_equation(rows), *_later(rows), *_start(rows)]


def _of(rows: Sequence[Row], run: str, metric: str) -> Interval:
    return interval(float(row[metric]) for row in where(rows, run=run) if row[metric] is not None)


def _p_of(rate_bps: float, rtt_s: float) -> float:
    """The loss event rate at which the equation gives a rate: bisection, as the equation falls with p."""
    low, high = 1e-9, 1.0
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if (throughput_bps(1400, rtt_s, middle) or 0.0) > rate_bps else (low, middle)
        )
    return high


def _lossless(rows: Sequence[Row], run: str) -> tuple[int, int, list[int]]:
    """Runs without a loss, all runs, and how many packets each lost on the air."""
    mine = where(rows, run=run)
    lost = [int(row["lost_on_air"]) for row in mine]
    return sum(row["lost_on_air"] + row["lost_in_queue"] == 0 for row in mine), len(mine), lost


def _growth(rows: Sequence[Row]) -> list[Finding]:
    packet_s = 8 * 1400 / 7e6
    near = where(rows, run="cbr-7.12")
    full = [float(row["first_loss_s"]) for row in near if row["rtt_at_loss_ms"] > OVERFLOWS_MS]
    return [
        Finding(
            "3.2, RTT at full speed",
            "from 2 ms the RTT grows up to one second",
            "2 ms to 1 s",
            f"{_of(rows, 'full', 'rtt_min_ms').text()} ms to {_of(rows, 'full', 'rtt_max_ms').text(0)} ms",
            None,
            "the largest RTT is an input of ours, not a result: the queue's length was chosen for it",
        ),
        Finding(
            "3.2, queue length",
            "estimated by 1 s over a service time of RTT / 2 = 1 ms",
            "1000 packets",
            f"{_of(rows, 'full', 'queue_packets').text(0)} packets; the queue holds 700",
            False,
            f"the service time is not half an RTT: at 7 Mbit/s 1400 bytes take 1.6 ms, and 1 s is then {1 / packet_s:.0f} packets "
            "in the published case too",
        ),
        Finding(
            "3.2, first loss",
            "the loss is detected late, after some 5 s",
            "5 s",
            f"reported at {_of(rows, 'full', 'first_loss_s').text()} s, {_of(rows, 'full', 'late_s').text()} s after the "
            "RTT began to grow",
            None,
            "late in both. Ours sends at most at twice X_recv (RFC 3448, 4.3): 700 packets too many take "
            f"{700 * packet_s:.1f} s, and the notice of the first that is dropped has to wait behind the full queue, "
            "as long again. Five seconds with the same queue mean a sender at less than twice the link's rate, and the "
            "published sending rate is not reported",
        ),
        Finding(
            "3.2, RTT of a 7 Mbit/s source",
            "slightly above the link's rate the queue builds up for over a minute",
            "loss at 70 s, RTT 1.2 s",
            f"7.0 Mbit/s: {_lost(rows, 'cbr-7')}; 7.12 Mbit/s: {_lost(rows, 'cbr-7.12')}; 7.5 Mbit/s: "
            f"{_lost(rows, 'cbr-7.5')}",
            len(full) > len(near) / 2 and all(math.isclose(t_s, 70, rel_tol=0.3) for t_s in full),
            f"at 7.12 Mbit/s, in the {len(full)} of {len(near)} runs in which the air lost nothing before the queue was full, the loss is "
            f"reported at {interval(full).text(1)} s. The time until the queue is full is its length over the difference of both "
            "rates: 700 packets in 70 s are 10 packets/s or 0.11 Mbit/s above the link's rate, which is not known so exactly "
            "of theirs. At 7.0 our link keeps up, and what is lost is lost on the air",
        ),
    ]


def _lost(rows: Sequence[Row], run: str) -> str:
    mine = where(rows, run=run)
    known = [float(row["first_loss_s"]) for row in mine if row["first_loss_s"] is not None]
    dropped = sum(row["lost_in_queue"] > 0 for row in mine)
    when = (
        f"first loss at {interval(known).text(1)} s in {len(known)} of {len(mine)} runs"
        if known
        else "no loss"
    )
    return f"{when}, queue overflown in {dropped}, RTT up to {_of(rows, run, 'rtt_max_ms').text(0)} ms"


def _equation(rows: Sequence[Row]) -> list[Finding]:
    return [
        Finding(
            "3.3, X_calc by hand",
            "s = 1400 bytes, p = 0.2%, R = 400 ms",
            "753 kbit/s",
            f"{BY_HAND:.0f} kbit/s by `multitracer.analyzers._tfrc`; a calculation, without an interval",
            round(BY_HAND) == 753,
        ),
        Finding(
            "3.3, X_calc at the loss",
            "as the graph shows it",
            "800 kbit/s",
            f"{_of(rows, 'full', 'x_calc_first_mbps').text()} Mbit/s by the first report, "
            f"{_of(rows, 'full', 'x_calc_least_mbps').text()} at the least within 15 s",
            False,
            f"p is smaller, {100 * _of(rows, 'full', 'p_first').median:.4f}% by the first report and "
            f"{100 * _of(rows, 'full', 'p_largest').median:.4f}% at the most, against 0.2%: the receiver sets the first p "
            "so that the equation gives the rate that it had received (RFC 3448, 6.3.1), and that was the link's: 7 Mbit/s with "
            f"the published R of 400 ms ask for {100 * _p_of(7e6, 0.4):.4f}%. The published p is "
            f"{0.002 / _p_of(7e6, 0.4):.0f} times that; which losses it counts is not reported",
        ),
        Finding(
            "3.3, double punishment",
            "late notice, and the grown RTT lowers X_calc further",
            "none in the text",
            f"notice {_of(rows, 'full', 'late_s').text()} s late; X_calc falls to "
            f"{_of(rows, 'full', 'x_calc_least_mbps').text()} of 7 Mbit/s within 15 s",
            _of(rows, "full", "x_calc_least_mbps").high < 3.5 and _of(rows, "full", "late_s").low > 1,
            "less than half of the link's rate, while the queue empties",
        ),
        Finding(
            "3.3, X_calc after the loss",
            "it is the available bandwidth again after circa 15 s, when p and the RTT have decayed",
            "15 s",
            f"X_calc is above 6 Mbit/s again at {_of(rows, 'full', 'x_calc_back_s').text(1)} s",
            _of(rows, "full", "x_calc_back_s").high < 20,
            "seconds since the request, as in the published graph; the loss is three seconds earlier in ours. It is the RTT that falls: p "
            "stays (figure at full load)",
        ),
        Finding(
            "3.3, three minutes",
            "X_calc then oscillates around 7 Mbit/s",
            "7 Mbit/s",
            f"{_of(rows, 'full', 'x_calc_mbps').text()} Mbit/s; 5% of it below "
            f"{_of(rows, 'full', 'x_calc_low_mbps').text(1)}, 5% above {_of(rows, 'full', 'x_calc_high_mbps').text(1)}",
            6 < _of(rows, "full", "x_calc_mbps").median < 8,
            "p changes slowly and the RTT by the second (figure at full load): X_calc oscillates because it is divided by the RTT",
        ),
    ]


def _later(rows: Sequence[Row]) -> list[Finding]:
    def spikes(run: str) -> str:
        return (
            f"over 10 ms in {_of(rows, run, 'spikes_per_min').text(0)} reports a minute, largest "
            f"{_of(rows, run, 'rtt_max_ms').text(0)} ms"
        )

    def lossless(run: str) -> str:
        none, runs, lost = _lossless(rows, run)
        return f"{none} of {runs} runs without a loss, at most {max(lost)} of {_of(rows, run, 'packets').text(0)} packets"

    five, six = _lossless(rows, "cbr-5"), _lossless(rows, "cbr-6")
    steady = [_lossless(rows, name) for name in ("cbr-5-steady", "cbr-6-steady")]
    both = [(row["p_straight_inverse"], row["p_straight_log"]) for row in where(rows, run="long")]
    inverse = sum(hyperbola > line for hyperbola, line in both)
    rate = sum(five[2] + six[2]) / (five[1] + six[1])
    why = (
        "the losses are of the air: our link gives a packet up after seven retransmissions, "
        f"{rate:.1f} packets a minute on average in its fades, and no queue overflows "
        f"({sum(row['lost_in_queue'] for row in where(rows, run=('cbr-5', 'cbr-6')))} drops). Over an air without fades "
        f"{steady[0][0] + steady[1][0]} of {steady[0][1] + steady[1][1]} runs lose nothing. At this rate a minute is without "
        f"loss with a probability of {math.exp(-rate):.2f}"
    )
    return [
        Finding(
            "3.4, RTT over a longer period",
            "the effective RTT reaches an average of 200 ms",
            "200 ms",
            f"{_of(rows, 'full', 'rtt_mean_ms').text(0)} ms over all reports of three minutes, "
            f"{_of(rows, 'long', 'rtt_mean_ms').text(0)} ms in the long run",
            _of(rows, "full", "rtt_mean_ms").low < 200 < _of(rows, "full", "rtt_mean_ms").high,
            "more than a hundred times the RTT of the idle link in both; ours is longer, and longer still in the long run. CCID 3 settles "
            "where the equation gives the link's rate, so that the RTT grows as p falls: at 7 Mbit/s 200 ms belong to p = "
            f"{100 * _p_of(7e6, 0.2):.4f}%, and ours ends at {100 * _of(rows, 'full', 'p_end').median:.4f}% after three "
            f"minutes and {100 * _of(rows, 'long', 'p_end').median:.4f}% after 1,000 s",
        ),
        Finding(
            "3.4, RTT at 2 Mbit/s",
            "a flat RTT",
            "none in the text",
            f"median {_of(rows, 'cbr-2', 'rtt_median_ms').text()} ms; {spikes('cbr-2')}",
            _of(rows, "cbr-2", "spikes_per_min").high < 0.01 * _of(rows, "cbr-2", "reports_per_min").low,
            f"{_of(rows, 'cbr-2', 'reports_per_min').text(0)} reports a minute",
        ),
        Finding(
            "3.4, RTT at 5 Mbit/s",
            "more spikes",
            "none in the text",
            spikes("cbr-5"),
            _of(rows, "cbr-5", "spikes_per_min").low > _of(rows, "cbr-2", "spikes_per_min").high,
            "fades of the air delay several packets at once, and less of the link is free to catch up",
        ),
        Finding(
            "3.4, RTT at 6 Mbit/s",
            "a build-up of queueing delay can be seen",
            "none in the text",
            f"{spikes('cbr-6')}; longest queue {_of(rows, 'cbr-6', 'queue_packets').text(0)} packets, with 5 Mbit/s "
            f"{_of(rows, 'cbr-5', 'queue_packets').text(0)}",
            _of(rows, "cbr-6", "queue_packets").low > _of(rows, "cbr-5", "queue_packets").high,
            "the same, with a seventh of the link free",
        ),
        Finding(
            "3.4, losses at 5 and 6 Mbit/s",
            "no loss in the run with 6 Mbit/s",
            "0",
            f"5 Mbit/s: {lossless('cbr-5')}; 6 Mbit/s: {lossless('cbr-6')}; without fades: {lossless('cbr-5-steady')}, "
            f"{lossless('cbr-6-steady')}",
            six[0] > six[1] / 2,
            why,
        ),
        Finding(
            "3.5, X_recv in more than 15 minutes",
            "X_recv stabilises at around 7 Mbit/s",
            "7 Mbit/s",
            f"{_of(rows, 'long', 'x_recv_mbps').text()} Mbit/s in the second half of 1,000 s "
            f"(n = {_of(rows, 'long', 'x_recv_mbps').n}); {_of(rows, 'full', 'x_recv_mbps').text()} in three minutes",
            6.5 < _of(rows, "long", "x_recv_mbps").median < 7.5,
            f"ours counts IP and DCCP headers; of data it is {_of(rows, 'long', 'sent_mbps').text()} Mbit/s",
        ),
        Finding(
            "3.5, p in more than 15 minutes",
            "it takes a long time for p to decay",
            "none in the text",
            _decay(rows),
            _of(rows, "long", "p_halving_s").low > 60,
            "with steps, one for each loss on the air",
        ),
        Finding(
            "3.5, law of the decay",
            "in an exponentially decreasing fashion",
            "none in the text",
            "R^2 of a straight line over time through log p: "
            f"{_of(rows, 'long', 'p_straight_log').text(3)}, through 1 / p: {_of(rows, 'long', 'p_straight_inverse').text(3)} "
            f"(n = {_of(rows, 'long', 'p_end').n}); 1 / p is the straighter in {inverse} of {len(both)} runs",
            inverse < len(both) / 2,
            "p is one over the mean loss interval (RFC 3448, 5.4), and falls as one over the packets since the last loss, not "
            "exponentially; the eye hardly tells these curves apart",
        ),
    ]


def _decay(rows: Sequence[Row]) -> str:
    mine = where(rows, run="long")
    halves = [float(row["p_halving_s"]) for row in mine if row["p_halving_s"] is not None]
    first, last = (_of(rows, "long", name) for name in ("p_largest", "p_end"))
    fall = f"from {first.text(4, 0.01)} to {last.text(4, 0.01)}% in 1,000 s (n = {last.n})"
    if not halves:
        return f"{fall}; no exponential fall over the whole run"
    return f"{fall}; a straight line through its logarithm halves in {interval(halves).text(0)} s"


def _start(rows: Sequence[Row]) -> list[Finding]:
    trip_ms = _of(rows, "full", "rtt_min_ms").median
    return [
        Finding(
            "3.6, X_recv in the first second",
            "slow start can be observed",
            "none in the text",
            f"X_recv is the link's after {_of(rows, 'full', 'start_at_link_s').text(0, 1e-3)} ms, within the first reports",
            _of(rows, "full", "start_at_link_s").low > 0.1,
            f"the first rate is 4,380 bytes for each RTT (RFC 4342, 5), {8 * 4380 / trip_ms / 1e3:.0f} Mbit/s with an RTT of "
            f"{trip_ms:.2f} ms: above the link's from the start, so that X_recv has nothing to double. "
            "How the published sender began is not reported",
        ),
        Finding(
            "3.6, RTT in the first second",
            "a staircase, from a minimum of 1.67 ms",
            "1.67 ms",
            f"from {_of(rows, 'full', 'rtt_min_ms').text()} ms; {_of(rows, 'full', 'start_rises').text(0)} of the steps between "
            f"{_of(rows, 'full', 'start_reports').text(0)} reports are upwards",
            _of(rows, "full", "start_rises").low > 0.7 * _of(rows, "full", "start_reports").high,
            "a step for each report, as CCID 3 reports once per RTT; the path of ours is 0.5 ms shorter, by choice",
        ),
    ]
