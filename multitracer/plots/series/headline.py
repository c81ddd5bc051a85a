"""The words over a figure: which transfer, how fast, how well used, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.quantities import count, transferred
from multitracer.plots.series.result_marks import Results, entry_of, number
from multitracer.plots.series.selection import Selection, unjoined


def title_words(selection: Selection, results: Results) -> tuple[str, str]:
    """Title (endpoints) and subtitle (bytes, goodput, retransmissions, utilization)."""
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
    entry = entry_of(selection, results)
    if entry is not None:
        rates = summary_of(results, "throughput").get("connections", ())
        # As the text has them.
        yield transferred({**entry, **next((one for one in rates if one["conn"] == connection.index), {})})
        yield _retransmitted(entry)
    value = number(summary_of(results, "utilization").get("value"))
    if value is not None:
        flows = len(selection.measurement.connections)
        yield f"utilization {100 * value:.1f}%" + (f" by all {flows:,} connections" if flows > 1 else "")


def _retransmitted(entry: Mapping[str, Any]) -> str:
    """Retransmissions as the answer on connections counts them."""
    again, inferred = entry["retransmissions"]["total"], entry["retransmissions"]["inferred"]
    some = f" ({inferred:,} inferred)" if inferred else ""
    return count(again, "retransmission") + (" (inferred)" if 0 < again <= inferred else some)


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
