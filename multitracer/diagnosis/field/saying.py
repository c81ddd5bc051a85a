"""The sentences about connections, what cost most first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from multitracer.diagnosis.field.causes import SLOW_START
from multitracer.diagnosis.field.facts import Flow, Object, flow
from multitracer.diagnosis.field.groups import Group, groups
from multitracer.diagnosis.field.kernel import contradiction
from multitracer.diagnosis.field.sentences import text
from multitracer.diagnosis.findings.finding import Finding

_IDLE = (SLOW_START, "idle_receiver_window", "idle_application", "loss", "spurious")


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
        Finding(text(group, with_loss=_tells_loss(group, place, said)), cost_s(group), group.kind, command)
        for place, group in enumerate(found)
    ]
    overruled = contradiction(flows)
    return [*sentences[:1], overruled, *sentences[1:]] if overruled is not None else sentences


_OF_LOSS = ("loss", "spurious", "local_drop", "bottleneck", "queue")


def _tells_loss(group: Group, place: int, said: bool) -> bool:
    return group.kind in _OF_LOSS or (place == 0 and not said)


def cost_s(group: Group) -> float:
    """Seconds in which nothing new was sent though the link would have taken it.

    A full link costs none, but what was spent on recovery behind it does. Of several connections, no more
    than the time from the first to the last of them.
    """
    if group.kind in _IDLE:
        seconds = group.seconds
    elif group.kind == "unknown":
        seconds = 0.0
    else:
        seconds = sum(flow.limits_s.get("loss_recovery", 0.0) for flow in group.flows)
    return min(seconds, _span_s(group.flows))


def _span_s(flows: Sequence[Flow]) -> float:
    return max(flow.end_s for flow in flows) - min(flow.start_s for flow in flows)
