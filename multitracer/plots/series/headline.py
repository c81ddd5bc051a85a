"""The words over a figure: which transfer, how fast, how well used, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.quantities import rate
from multitracer.plots.panel import duration_words
from multitracer.plots.series.result_marks import Results, number
from multitracer.plots.series.selection import Selection, unjoined


def title_words(selection: Selection, results: Results) -> tuple[str, str]:
    """Title (endpoints) and subtitle (bytes, duration, throughput, utilization)."""
    connection = selection.connection
    if connection is None:
        return "Link log without a TCP capture", ""
    ends = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in connection.endpoints]
    sender, receiver = ends if connection.data_dir == 0 else reversed(ends)
    return f"{sender} \N{RIGHTWARDS ARROW} {receiver}", ", ".join(_facts(selection, results))


def _facts(selection: Selection, results: Results) -> Iterator[str]:
    connection = selection.connection
    if connection is None:
        return
    source = selection.snd if selection.snd is not None else selection.rcv
    data = selection.segments(source, data=True)
    if len(data):
        acks = selection.segments(source, data=False)
        start, end = int(data["t_ns"][0]), int(max([data["t_ns"][-1], *acks["t_ns"][-1:]]))
        # New bytes: the payload without what had been sent before (duplicate bytes, Paper 4.3).
        unique = int(data["length"].sum() - data["duplicate"].sum())
        seconds = (end - start) / 1e9
        yield f"{unique:,} bytes in {duration_words(seconds)}"
        if seconds > 0:
            yield f"{rate(8 * unique / seconds)} on average"
        yield from _retransmitted(connection.index, results)
    value = number(summary_of(results, "utilization").get("value"))
    if value is not None:
        yield f"utilization {100 * value:.1f}%"


def _retransmitted(index: int, results: Results) -> Iterator[str]:
    """Retransmissions as the answer on connections counts them; nothing without that answer."""
    for one in summary_of(results, "connections").get("connections", ()):
        if one["index"] == index:
            again, inferred = one["retransmissions"]["total"], one["retransmissions"]["inferred"]
            words = f"{again:,} retransmissions" if again != 1 else "1 retransmission"
            some = f" ({inferred:,} inferred)" if inferred else ""
            yield words + (" (inferred)" if 0 < again <= inferred else some)


def missing_layers(selection: Selection, entity: int | None) -> Iterator[str]:
    """What the figure cannot show, and why."""
    if selection.connection is None:
        yield "no TCP capture: link only"
        return
    if selection.snd is None:
        yield "no capture at the sender: TcpSnd and retransmissions not shown"
    elif selection.measurement.snd is None:
        yield "place of the capture unknown: shown as the sender's"
    if selection.rcv is None:
        yield "no capture at the receiver: TcpRcv not shown"
    states = selection.states()
    if not bool(np.any(states["cwnd"] >= 0)):
        yield "no kernel log: congestion window not shown"
    if entity is None:
        yield "no link log: RlpSnd not shown"
    for index in unjoined(selection.measurement):
        yield f"{selection.measurement.sources[index].format} log not on the timeline: left out"
