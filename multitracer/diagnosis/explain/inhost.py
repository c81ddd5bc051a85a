"""What one packet met inside the host that sent or received it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multitracer.diagnosis.explain.rules import span_text
from multitracer.model.analysis import Result
from multitracer.model.timeline import Timeline


def host_sentences(
    m: Timeline, results: Mapping[str, Result], source: int, record: int
) -> Iterator[tuple[str, int]]:
    """Sentences on a captured packet's way through its host, and the line of the kernel's log behind each.

    Parameters
    ----------
    m : Timeline
    results : mapping of str to Result
        Of analyzers, by name; `host` is the one that is used.
    source : int
        The capture among the sources.
    record : int
        The packet's number in it, from 1.
    """
    found = results.get("host")
    if found is None or found.inconclusive is not None:
        return
    packets = found.tables["host_packets"]
    segments = m.table("segments")
    row = np.flatnonzero((segments["source"] == source) & (segments["record"] == record))
    mine = np.flatnonzero(np.isin(packets["capture"], row))
    if not len(mine):
        return
    one = {name: int(packets[name][mine[0]]) for name in packets}
    line = one["record"]
    if one["way"] == packets.code("way", "in"):
        yield "the driver handed it to the stack of this host", line
        if one["drop_ns"] >= 0:
            yield f"{span_text(one['drop_ns'] - one['receive_ns'])} later the kernel dropped it", line
        return
    before = one["enqueue_ns"] if one["enqueue_ns"] >= 0 else one["queue_ns"]
    if one["enqueue_ns"] >= 0 and one["dequeue_ns"] >= 0:
        whole = " (cut there out of a larger packet)" if one["parent"] >= 0 else ""
        yield (
            f"it waited {span_text(one['dequeue_ns'] - before)} in the host's queueing discipline{whole}",
            line,
        )
    elif one["queue_ns"] >= 0:
        yield "no queueing discipline held it back", line
    if one["starts"] > 1:
        yield f"the driver took it at the {one['starts']}th try", line
    elif one["start_ns"] >= 0 and before >= 0:
        yield f"the driver had it {span_text(one['start_ns'] - before)} after TCP handed it over", line
    calls = found.tables["host_calls"]
    writes = calls.where((calls["conn"] == one["conn"]) & (calls["dir"] == one["dir"]) & (calls["kind"] == 0))
    known = any(
        bool(told[("forward", "reverse")[one["dir"]]]["syn"])
        for told in m.connections[one["conn"]].summaries.values()
    )
    if known and len(writes) and one["seq"] > 0 and int(segments["transmission"][row[0]]) == 1:
        at = int(np.searchsorted(np.cumsum(np.maximum(writes["length"], 0)), one["seq"], side="left"))
        if at < len(writes):
            ago = one["start_ns"] - int(writes["t_ns"][at])
            when = f"{span_text(ago)} before" if ago >= 0 else "with a call that had not ended yet"
            yield f"the application wrote its first byte {when}", int(writes["record"][at])
