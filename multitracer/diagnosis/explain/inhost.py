"""What one packet met inside the host that sent or received it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multitracer.diagnosis.explain.rules import span_text
from multitracer.layers.host.sockets import begun
from multitracer.model.analysis import Result
from multitracer.model.quantities import count
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline


def host_sentences(
    m: Timeline, results: Mapping[str, Result], source: int, record: int
) -> Iterator[tuple[str, int]]:
    """Sentences on a captured packet's path through its host, and the line of the kernel's log behind each.

    Parameters
    ----------
    m : Timeline
    results : mapping of str to Result
        Of analyzers, by name; `host` is the one that is used.
    source : int
        The capture among the sources.
    record : int
        The packet's number in it, from 1.

    Yields
    ------
    text : str
        A clause without a full stop.
    line : int
        From 1, in the kernel's log.
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
            reasons = m.sources[one["source"]].details.get("drop_reasons", ())
            why = f" ({reasons[one['reason']]})" if 0 <= one["reason"] < len(reasons) else ""
            after = span_text(one["drop_ns"] - one["receive_ns"])
            yield f"{after} later the kernel dropped it{why}", line
        else:
            yield from _read(m, found.tables["host_calls"], one, row)
        return
    if int(segments["transmission"][row[0]]) == 1:
        yield from _written(m, found.tables["host_calls"], one)
    if one["segments"] > 1:
        yield f"TCP handed it over as {one['segments']} segments in one packet (GSO)", line
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
        yield f"the driver took it after {count(one['starts'] - 1, 'refusal')}", line
    elif one["start_ns"] >= 0 and before >= 0:
        yield f"the driver had it {span_text(one['start_ns'] - before)} after TCP handed it over", line


def _calls(m: Timeline, calls: Table, one: Mapping[str, int], kind: str) -> tuple[Table, Array] | None:
    """Calls on the packet's bytes at its host, and the bytes up to the end of each.

    None unless the connection was seen from its first byte: what came before would be missing in the sums.
    """
    own = (calls["conn"] == one["conn"]) & (calls["dir"] == one["dir"]) & (calls["source"] == one["source"])
    rows = calls.where(own & (calls["kind"] == calls.code("kind", kind)))
    if not begun(m, one["conn"], one["dir"]) or not len(rows) or one["seq"] <= 0:
        return None
    return rows, np.cumsum(np.maximum(rows["length"], 0))


def _written(m: Timeline, calls: Table, one: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """When the application wrote its first byte."""
    known = _calls(m, calls, one, "write")
    if known is not None:
        writes, upto = known
        at = int(np.searchsorted(upto, one["seq"], side="left"))
        if at < len(writes):
            ago = one["start_ns"] - int(writes["t_ns"][at])
            when = f"{span_text(ago)} before" if ago >= 0 else "with a call that had not ended yet"
            yield f"the application wrote its first byte {when}", int(writes["record"][at])


def _read(m: Timeline, calls: Table, one: Mapping[str, int], row: Array) -> Iterator[tuple[str, int]]:
    """When the application had read its last byte."""
    length = int(m.table("segments")["length"][row[0]])
    known = _calls(m, calls, one, "read") if length > 0 else None
    if known is None:
        return
    reads, upto = known
    at = int(np.searchsorted(upto, one["seq"] + length - 1, side="left"))
    if at == len(reads):
        yield "the application had not read its last byte when the recording ended", one["record"]
        return
    later = int(reads["t_ns"][at]) - one["receive_ns"]
    if later >= 0:
        waited = f"the application had read its last byte {span_text(later)} later"
        yield f"{waited} (queued in the socket until then)", int(reads["record"][at])
