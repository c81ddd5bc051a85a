"""The sentences about connections, what cost most first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from multitracer.diagnosis.field.facts import KernelCounts, Object, flow
from multitracer.diagnosis.field.groups import groups
from multitracer.diagnosis.field.kernel import contradiction
from multitracer.diagnosis.field.sentences import text
from multitracer.diagnosis.findings.finding import Finding

_OF_LOSS = ("loss", "spurious", "local_drop", "bottleneck", "queue")


def sentences(
    entries: Iterable[Object],
    command: str = "",
    kernel: Mapping[int, KernelCounts] | None = None,
    lost: Mapping[int, int] | None = None,
    *,
    complete: bool = True,
) -> list[Finding]:
    """What limited the connections of these entries, the weightiest cause first.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    command : str
        Draws the measurement.
    kernel : mapping of int to KernelCounts, optional
        What the kernel of each connection's sender counted.
    lost : mapping of int to int, optional
        Segments lost between both captures, by connection.
    complete : bool
        Whether the captures dropped no packet, as far as their files tell.

    Returns
    -------
    list of Finding
        Empty if none carried data.
    """
    known, gone = kernel or {}, lost or {}
    known_flows = (
        flow(entry, known.get(entry["index"]), complete=complete, lost=gone.get(entry["index"]))
        for entry in entries
    )
    flows = [one for one in known_flows if one is not None]
    found = groups(flows)
    # What was lost of a connection is said once: by the first sentence that is about it, else by the first.
    about = any(group.kind in _OF_LOSS for group in found)
    told: set[int] = set()
    sentences = []
    for place, group in enumerate(found):
        mine = {one.index for one in group.flows}
        with_loss = (group.kind in _OF_LOSS or (place == 0 and not about)) and not mine <= told
        sentences.append(Finding(text(group, with_loss=with_loss), group.cost_s, group.kind, command))
        if with_loss:
            told |= mine
    overruled = contradiction(flows)
    return [*sentences[:1], overruled, *sentences[1:]] if overruled is not None else sentences
