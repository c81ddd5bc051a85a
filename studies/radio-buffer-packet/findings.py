"""Figures 3 and 4 of the measurements of a Ricochet network, beside ours over a model of such a radio."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from published import Finding, Interval, Row, grouped, interval, where

BUFFERS = (2048, 4096, 8192, 16384, 32768)
PACKETS = (168, 296, 552, 1064, 1500)
SHARES = ("1e-4", "2e-4", "4e-4")
BUFFER, PACKET = "flow.0.rcvbuf_bytes", "network.mtu_bytes"
KBIT = 1e3
LATE = 0.2
"""Share of late events from which a run counts as late."""


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Every figure and what the text says of it."""
    alone, cross = where(rows, air="radio"), where(rows, air="cross")
    return [
        *_buffers(alone),
        *_packets(alone, rows),
        *_traffic(alone, cross, rows),
        *_timers(alone),
        _idle(alone),
    ]


def _cell(rows: Sequence[Row], metric: str, **conditions: Any) -> Interval:
    return interval(float(row[metric]) for row in where(rows, **conditions))


def _by_packet(rows: Sequence[Row], buffer: int, packets: Sequence[int] = PACKETS) -> dict[int, Interval]:
    return {p: _cell(rows, "throughput_bps", **{BUFFER: buffer, PACKET: p}) for p in packets}


def _line(cells: dict[int, Interval]) -> str:
    return ", ".join(f"{key}: {cell.text(1, KBIT)}" for key, cell in cells.items()) + " kbit/s"


def _best(rows: Sequence[Row], over: str) -> list[int]:
    """For each seed, the value of a column at which throughput (mean over the other column) is highest."""
    means = grouped(rows, "throughput_bps", ("seed", over))
    seeds = {key[0] for key in means}
    return [max((value, key[1]) for key, value in means.items() if key[0] == seed)[1] for seed in seeds]


def _buffers(alone: Sequence[Row]) -> list[Finding]:
    large = where(alone, **{PACKET: PACKETS[2:]})
    by_buffer = {
        b: interval(grouped(where(large, **{BUFFER: b}), "goodput_bps", ("seed",)).values()) for b in BUFFERS
    }
    top = max(by_buffer, key=lambda b: by_buffer[b].median)
    return [
        Finding(
            "Figure 3a, buffers",
            "experimental network: a clear peak at socket buffers of 4 to 8 KB",
            "4 to 8 KB",
            "goodput over the buffer, packets of 552 to 1500: " + _line(by_buffer),
            top in (4096, 8192) and by_buffer[top].low > by_buffer[2048].high,
            "below, the buffer is the limit; above, the sender's own queue of 10,000 bytes drops packets. The fall above "
            "8 KB is within the intervals",
        )
    ]


def _packets(alone: Sequence[Row], rows: Sequence[Row]) -> list[Finding]:
    cells = _by_packet(alone, 8192)
    best = _best(where(alone, **{BUFFER: 8192}), PACKET)
    shares = {s: where(rows, air=f"errors-{s}") for s in SHARES}
    tops = {s: _by_packet(found, 8192) for s, found in shares.items()}
    peak = {s: max(cell, key=lambda p: cell[p].median) for s, cell in tops.items()}
    found = any(p in (552, 1064) for p in peak.values())
    return [
        Finding(
            "Figure 3a, packets",
            "... with packets of 512 bytes and 1 KB",
            "512 B and 1 KB",
            f"8 KB: {_line(cells)}; best in {sum(b == 1500 for b in best)} of {len(best)} seeds with 1500",
            all(b in (552, 1064) for b in best),
            "our radio loses a packet with the same probability whatever its length: then more is better up to the "
            "largest. The next row has a radio that damages bytes",
        ),
        Finding(
            "Figure 3a, packets, measured",
            "the queues and the link's flow control are optimized for these sizes",
            "512 B and 1 KB",
            "bytes damaged with probability e, 8 KB: "
            + "; ".join(f"e = {s}: {_line(cell)}, best {peak[s]}" for s, cell in tops.items()),
            found,
            "with errors by length the peak is where a lost attempt and the turnaround of 12 ms cost the same; it moves "
            "to smaller packets as e grows. No tuning of queues is needed for a peak there, nor is it ruled out",
        ),
        Finding(
            "Figure 3, small packets",
            "unnecessarily small packets are damaging",
            "none in the text",
            "168 bytes: "
            + ", ".join(
                _cell(alone, "throughput_bps", **{BUFFER: b, PACKET: 168}).text(1, KBIT) for b in BUFFERS
            )
            + " kbit/s, for buffers of 2 to 32 KB",
            cells[168].high < cells[552].low,
            "the turnaround of 12 ms is as long as 96 bytes",
        ),
        Finding(
            "Text of Figure 3",
            "the hardware takes packets of 1750 bytes",
            "1750 bytes",
            "at most 1500 were sent",
            None,
            "the published figure ends at 1 KB: nothing is known of larger packets. Ours are Ethernet's largest",
        ),
    ]


def _traffic(alone: Sequence[Row], cross: Sequence[Row], rows: Sequence[Row]) -> list[Finding]:
    quiet, busy = _by_packet(alone, 8192), _by_packet(cross, 8192)
    lossy = _by_packet(where(rows, air="errors-2e-4"), 8192)
    lossy_busy = _by_packet(where(rows, air="cross-errors-2e-4"), 8192)

    def fall(cells: dict[int, Interval]) -> bool:
        return max(cells, key=lambda p: cells[p].median) == 552

    def step(found: Sequence[Row]) -> Interval:
        """1064 against 552, by seed."""
        means = grouped(where(found, **{BUFFER: 8192}), "throughput_bps", ("seed", PACKET))
        return interval(means[key[0], 1064] / value for key, value in means.items() if key[1] == 552)

    steps = {
        "alone": step(alone),
        "with traffic": step(cross),
        "errors by length": step(where(rows, air="errors-2e-4")),
        "errors by length and traffic": step(where(rows, air="cross-errors-2e-4")),
    }
    return [
        Finding(
            "Figure 3b",
            "commercial network: best at 512 bytes, less at 1 KB",
            "best 512 B",
            f"with other traffic, 8 KB: {_line(busy)}; the same with errors by length (e = 2e-4): {_line(lossy_busy)}",
            fall(busy) or fall(lossy_busy),
            "in the lab the other traffic is a second connection over the same queue and air, 4,000 bytes every three "
            "seconds. It takes two fifths of the throughput at any packet size and does not turn their order. What does is "
            "losses by length: with e = 4e-4 and no traffic at all, 512 bytes are best and 1 KB is less, as in the figure",
        ),
        Finding(
            "Figure 3b, reason",
            'the difference is "most likely" the other traffic',
            "none in the text",
            "throughput with 1064 over that with 552 bytes, 8 KB: "
            + "; ".join(f"{name} {one.text(2)}" for name, one in steps.items()),
            steps["with traffic"].high < 1 < steps["alone"].low,
            "below 1 is the published fall. Traffic takes "
            f"{100 * (1 - busy[552].median / quiet[552].median):.0f}% of the throughput with 552 bytes and "
            f"{100 * (1 - busy[1064].median / quiet[1064].median):.0f}% with 1064; with errors by length "
            f"{100 * (1 - lossy_busy[552].median / lossy[552].median):.0f} and "
            f"{100 * (1 - lossy_busy[1064].median / lossy[1064].median):.0f}%. It takes a share of the radio; the order "
            "of the packet sizes is that of the errors",
        ),
    ]


def _timers(alone: Sequence[Row]) -> list[Finding]:
    share = interval(
        float(row["rtt_deviation_ms"]) / float(row["rtt_mean_ms"]) for row in alone if row["rtt_mean_ms"]
    )
    rto = interval(float(row["rto_ms"]) / float(row["rtt_mean_ms"]) for row in alone if row["rtt_mean_ms"])
    typical = where(alone, **{BUFFER: 8192, PACKET: 552})
    return [
        Finding(
            "Figure 4a",
            "samples of the RTT vary so much that the timer is overly conservative",
            "none in the text",
            f"a sample differs from the smoothed RTT by {100 * share.median:.0f}% of the mean RTT "
            f"({100 * share.low:.0f} to {100 * share.high:.0f}), and the RTO is {rto.text(2)} times it; with 552 bytes and "
            f"8 KB: deviation {_cell(typical, 'rtt_deviation_ms').text(0)} ms, RTO {_cell(typical, 'rto_ms').text(0)} ms",
            rto.low > 1.5,
            "variation grows with buffer times packet size, because the queue varies",
        ),
        Finding(
            "Figure 4a, reason",
            "it comes from data and ACKs that meet in half-duplex radios",
            "none in the text",
            "deviation over the buffer, 552 bytes: "
            + ", ".join(_cell(alone, "rtt_deviation_ms", **{BUFFER: b, PACKET: 552}).text(0) for b in BUFFERS)
            + " ms",
            None,
            "our radio is half-duplex in all runs: its share cannot be separated from that of the queue, which the growth with "
            "the buffer shows",
        ),
    ]


def _idle(alone: Sequence[Row]) -> Finding:
    """The connection of Figure 4b: 35% idle after nine losses."""
    about = [row for row in alone if row[PACKET] == 552 and 150 <= (row["segments"] or 0) <= 260]
    idle = [float(row["idle_after_losses_share"]) * 100 for row in about]
    some = [row for row in about if row["timeouts"] and 1 <= row["timeouts"] <= 5]
    worst = max(about, key=lambda row: float(row["idle_after_losses_share"]))
    return Finding(
        "Figure 4b",
        "one connection: 35% of it idle after nine losses in 200 segments, three timeouts, six fast retransmits",
        "35%; 9; 3; 6",
        f"552 bytes: idle {interval(idle).text(1)}%, at most {max(idle):.0f}%, there with {worst['lost_segments']} losses "
        f"and {worst['timeouts']} timeouts; losses {interval(float(row['lost_segments']) for row in about).text(0)}, "
        f"timeouts {interval(float(row['timeouts']) for row in about).text(0)}, fast retransmits "
        f"{interval(float(row['retransmissions_fast']) for row in about).text(0)}; n = {len(about)}",
        float(np.max(idle)) >= 20 and bool(some),
        "theirs was chosen to show the effect, and the worst of ours is of that size; the median connection is idle "
        "for far less",
    )


def notes(rows: Sequence[Row]) -> list[str]:
    """What the link counted itself, and whether the machine's load shows."""
    alone, cross = where(rows, air="radio"), where(rows, air="cross")
    lost = sum(int(row["lost_segments"]) for row in alone)
    equal = sum(row["lost_segments"] == row["queue_drops"] + row["given_up"] for row in alone)
    late = [row for row in cross if row["late_share"] > LATE]
    buffers = sorted({row[BUFFER] for row in late})
    always = [b for b in buffers if all(row["late_share"] > LATE for row in where(cross, **{BUFFER: b}))]
    found = max(float(row["late_share"]) for row in where(cross, **{BUFFER: 8192}))
    others = max(float(row["late_share"]) for row in rows if row["air"] != "cross")
    return [
        f"Data segments lost, {lost:,} in total by the captures of both ends: equal to the link's own count (`queue_drops` and "
        f"`given_up` in the CSV) in {equal} of {len(alone)} runs without other traffic.",
        f"In {len(late)} of the {len(cross)} runs with other traffic, all with buffers of "
        f"{', '.join(f'{b:,}' for b in buffers[:-1])} and {buffers[-1]:,} bytes, the machine had other work and served more than a fifth of the link's "
        f"events more than 5 ms late; with 8 KB, which Figure 3b is compared at, at most {100 * found:.0f}% of them, and in "
        f"all other runs at most {100 * others:.0f}%. {_loaded(cross)} With {' and '.join(f'{b:,}' for b in always)} bytes "
        "every run was late: nothing here shows what that did to them, and no finding rests on them.",
    ]


def _loaded(cross: Sequence[Row]) -> str:
    """Late runs against others of the same cell."""
    cells: dict[Any, tuple[list[float], list[float]]] = {}
    for row in cross:
        pair = cells.setdefault((row[BUFFER], row[PACKET]), ([], []))
        pair[row["late_share"] > LATE].append(float(row["throughput_bps"]))
    quotients = interval(
        float(np.mean(late) / np.mean(others)) for others, late in cells.values() if late and others
    )
    return (
        f"In the {quotients.n} cells that have both, the throughput of the late runs over that of the others is "
        f"{quotients.text()}: a difference below the interval's width would not show."
    )
