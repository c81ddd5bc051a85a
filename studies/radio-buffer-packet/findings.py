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
PAYLOAD_KBPS = 8 * 512 / 81.0
LATE_RUNS = "cross-late"
"""Runs with other traffic on a machine that was too busy; kept to show what that does."""


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Every figure and what the text says of it."""
    alone, cross = where(rows, air="radio"), where(rows, air="cross")
    return [
        *_buffers(alone),
        *_packets(alone, rows),
        *_traffic(alone, cross, rows),
        *_timers(alone, where(rows, air="duplex")),
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
    steep = shares[SHARES[-1]]
    peak = _best(steep, PACKET)
    inside = sum(p in (552, 1064) for p in peak)
    below, above = _quotient(steep, 296, 552), _quotient(steep, 1500, 552)
    small = min(PACKETS)
    return [
        Finding(
            "Figure 3a, packets",
            "... with packets of 512 bytes and 1 KB",
            "512 B and 1 KB",
            f"8 KB: {_line(cells)}; best in {sum(b == 1500 for b in best)} of {len(best)} seeds with 1500",
            all(b in (552, 1064) for b in best),
            "of the sizes up to 1 KB ours are best at 512 bytes and 1 KB too, but 1500 are better still: our radio loses a packet "
            "with the same probability whatever its length. The next row has a radio that damages bytes",
        ),
        Finding(
            "Figure 3a, packets, measured",
            "... the same over an air that damages bytes, 8 KB",
            "512 B and 1 KB",
            "; ".join(
                f"e = {s}: {_line(cell)}, best {max(cell, key=lambda p: cell[p].median)}"
                for s, cell in tops.items()
            )
            + f"; e = {SHARES[-1]}, n = {len({row['seed'] for row in steep})} seeds: best with 552 or 1064 in {inside}, "
            f"throughput over that with 552 bytes: 296 {below.text()}, 1064 {_quotient(steep, 1064, 552).text()}, "
            f"1500 {above.text()}",
            below.high < 1 and inside >= 0.75 * len(peak),
            "with the largest e 552 and 1064 are equally good and best, as published; 1500 is less by what the seeds differ. "
            "The peak is where a lost attempt and the turnaround of 12 ms cost the same; it moves to smaller packets as e grows",
        ),
        Finding(
            "Figure 3a, packets, reason",
            "the queues and the link's flow control are optimized for these sizes",
            "none in the text",
            "neither is tuned to a packet size in our radio: a queue of 10,000 bytes, up to three attempts for each packet",
            None,
            "how Metricom's radios tuned them is not published. The row before shows that a peak there needs no tuning; that there was "
            "some is not ruled out",
        ),
        Finding(
            "Figure 3, small packets",
            "unnecessarily small packets are damaging",
            "none in the text",
            f"{small} bytes: "
            + ", ".join(
                _cell(alone, "throughput_bps", **{BUFFER: b, PACKET: small}).text(1, KBIT) for b in BUFFERS
            )
            + " kbit/s, for buffers of 2 to 32 KB",
            cells[small].high < cells[552].low,
            "the turnaround of 12 ms is as long as 96 bytes",
        ),
        Finding(
            "Figure 3, prediction",
            "path MTU discovery will diversify the packet sizes, and the network will suffer from it",
            "none in the text",
            f"8 KB, throughput over that with 552 bytes: {small} {_quotient(alone, small, 552).text()}, 1500 "
            f"{_quotient(alone, 1500, 552).text()}; with errors by length (e = {SHARES[-1]}) {small} "
            f"{_quotient(steep, small, 552).text()}, 1500 {above.text()}",
            _quotient(steep, small, 552).high < 1 and above.high < 1,
            "smaller packets cost throughput over any air, larger ones gain it where long packets are not lost more often, and lose "
            "hardly any where they are. Path MTU discovery chooses the largest that fits: in ours it would do no harm",
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


def _quotient(rows: Sequence[Row], above: int, below: int) -> Interval:
    """Throughput with one packet size over that with another, 8 KB, by seed."""
    means = grouped(where(rows, **{BUFFER: 8192}), "throughput_bps", ("seed", PACKET))
    return interval(means[key[0], above] / value for key, value in means.items() if key[1] == below)


def _traffic(alone: Sequence[Row], cross: Sequence[Row], rows: Sequence[Row]) -> list[Finding]:
    quiet, busy = _by_packet(alone, 8192), _by_packet(cross, 8192)
    lossy = _by_packet(where(rows, air="errors-2e-4"), 8192)
    lossy_busy = _by_packet(where(rows, air="cross-errors-2e-4"), 8192)

    def fall(cells: dict[int, Interval]) -> bool:
        return max(cells, key=lambda p: cells[p].median) == 552

    airs = {
        "alone": alone,
        "with traffic": cross,
        "errors by length": where(rows, air="errors-2e-4"),
        "errors by length and traffic": where(rows, air="cross-errors-2e-4"),
    }
    steps = {name: _quotient(found, 1064, 552) for name, found in airs.items()}
    return [
        Finding(
            "Figure 3b",
            "commercial network: best at 512 bytes, less at 1 KB",
            "best 512 B",
            f"with other traffic, 8 KB: {_line(busy)}; the same with errors by length (e = 2e-4): {_line(lossy_busy)}",
            fall(busy) or fall(lossy_busy),
            "in the lab the other traffic is a second connection over the same queue and air, 4,000 bytes every three "
            "seconds. It takes two fifths of the throughput at any packet size and does not turn their order. Losses by length do "
            '("Figure 3a, packets, measured")',
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


def _timers(alone: Sequence[Row], duplex: Sequence[Row]) -> list[Finding]:
    share = interval(
        float(row["rtt_deviation_ms"]) / float(row["rtt_mean_ms"]) for row in alone if row["rtt_mean_ms"]
    )
    rto = interval(float(row["rto_ms"]) / float(row["rtt_mean_ms"]) for row in alone if row["rtt_mean_ms"])
    typical = where(alone, **{BUFFER: 8192, PACKET: 552})
    lost = [row for row in alone if row["lost_segments"]]
    by_timer = interval((row["lost_timeout"] or 0) / row["lost_segments"] for row in lost)
    waited = sum(row["timeouts"] > 0 for row in alone)
    half = where(alone, **{PACKET: 552})
    deviation, faster = _by_duplex(duplex, half, "rtt_deviation_ms"), _by_duplex(duplex, half, "goodput_bps")
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
            + ", ".join(_cell(half, "rtt_deviation_ms", **{BUFFER: b}).text(0) for b in BUFFERS)
            + " ms; the same radio if it could send and receive at once, as a share of it: "
            + ", ".join(one.text() for one in deviation.values())
            + f" (n = {len(duplex)} pairs)",
            all(one.high < 0.5 for one in deviation.values()),
            "a sixth to a third of the deviation is due to it, with a buffer of 8 or 16 KB not more than the seeds differ. The rest is the "
            "queue: the deviation grows with the buffer in both radios",
        ),
        Finding(
            "Figure 4a, timers",
            "a timer should be the last resort of loss recovery; for connections like this one it happens often",
            "none in the text",
            f"a timeout in {waited} of {len(alone)} transfers; {100 * by_timer.median:.0f}% "
            f"({100 * by_timer.low:.0f} to {100 * by_timer.high:.0f}) of the lost segments of a transfer were repaired by an RTO or the "
            "slow start after it",
            waited > len(alone) / 2,
            "cumulative ACKs only: a second loss in a window, or one of the last three segments, waits for the timer",
        ),
        Finding(
            "Summary",
            "the half-duplex radios are the primary cause of the degradation",
            "none in the text",
            "goodput of the radio that sends and receives at once over that of the half-duplex one, 552 bytes: "
            + ", ".join(one.text() for one in faster.values())
            + " for buffers of 2 to 32 KB",
            min(one.median for one in faster.values()) > 2,
            f"a packet of 552 bytes takes 81 ms, so that {PAYLOAD_KBPS:.1f} kbit/s of payload are possible in one direction; with 8 KB the "
            f"half-duplex radio has {_cell(half, 'goodput_bps', **{BUFFER: 8192}).text(1, KBIT)}, the other "
            f"{_cell(duplex, 'goodput_bps', **{BUFFER: 8192}).text(1, KBIT)}. ACKs take about a fifth; most of what is missing "
            "is missing in both: attempts that the air loses, drops of the queue, and the recovery from them",
        ),
    ]


def _by_duplex(duplex: Sequence[Row], half: Sequence[Row], metric: str) -> dict[int, Interval]:
    """For each buffer, a metric of a full-duplex radio over that of a half-duplex one, by seed."""
    above = {(row[BUFFER], row["seed"]): float(row[metric]) for row in duplex}
    below = {(row[BUFFER], row["seed"]): float(row[metric]) for row in half}
    return {b: interval(above[key] / below[key] for key in above if key[0] == b) for b in BUFFERS}


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
    alone = where(rows, air="radio")
    lost = sum(int(row["lost_segments"]) for row in alone)
    equal = sum(row["lost_segments"] == row["queue_drops"] + row["given_up"] for row in alone)
    most = max(float(row["late_share"]) for row in rows if row["air"] != LATE_RUNS)
    return [
        f"Data segments lost, {lost:,} in total by the captures of both ends: equal to the link's own count (`queue_drops` and "
        f"`given_up` in the CSV) in {equal} of {len(alone)} runs without other traffic.",
        f"In no run did the machine serve more than {100 * most:.0f}% of the link's events more than 5 ms late (a packet of 552 bytes "
        f"takes 81 ms). {_loaded(where(rows, air='cross'), where(rows, air=LATE_RUNS))}".strip(),
    ]


def _loaded(cross: Sequence[Row], late: Sequence[Row]) -> str:
    """Runs that were made twice, once on a busy machine; a summary made anew has none of those."""
    again = {(row[BUFFER], row[PACKET], row["seed"]): float(row["throughput_bps"]) for row in cross}
    pairs = [again[row[BUFFER], row[PACKET], row["seed"]] / float(row["throughput_bps"]) for row in late]
    if not pairs:
        return ""
    shares = [float(row["late_share"]) for row in late]
    return (
        f"{len(pairs)} runs with other traffic had been made on a busier machine before, with {100 * min(shares):.0f} to "
        f"{100 * max(shares):.0f}% of the events late (`{LATE_RUNS}` in the CSV; no table has them). The same runs on the less "
        f"busy one have {interval(pairs).text()} times their throughput: the load does not show."
    )
