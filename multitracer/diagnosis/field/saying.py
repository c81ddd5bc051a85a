"""The sentences about connections, what cost most first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from multitracer.diagnosis.field.facts import Object, flow
from multitracer.diagnosis.field.groups import Group, groups
from multitracer.diagnosis.field.kernel import contradiction
from multitracer.diagnosis.field.sentences import text
from multitracer.diagnosis.findings.finding import Finding


def sentences(
    entries: Iterable[Object],
    command: str = "",
    kernel: Mapping[int, int] | None = None,
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
    kernel : mapping of int to int, optional
        Retransmissions by the kernel's own counters, by connection.
    complete : bool
        Whether the captures dropped no packet, as far as their files tell.

    Returns
    -------
    list of Finding
        Empty if none carried data.
    """
    known = kernel or {}
    told = (flow(entry, known.get(entry["index"]), complete=complete) for entry in entries)
    flows = [found for found in told if found is not None]
    found = groups(flows)
    # What was lost is said once: by the sentence that is about it, else by the first.
    said = any(group.kind in _OF_LOSS for group in found)
    sentences = [
        Finding(text(group, with_loss=_tells_loss(group, place, said)), group.cost_s, group.kind, command)
        for place, group in enumerate(found)
    ]
    overruled = contradiction(flows)
    return [*sentences[:1], overruled, *sentences[1:]] if overruled is not None else sentences


_OF_LOSS = ("loss", "spurious", "local_drop", "bottleneck", "queue")


def _tells_loss(group: Group, place: int, said: bool) -> bool:
    return group.kind in _OF_LOSS or (place == 0 and not said)
