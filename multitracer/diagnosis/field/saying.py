"""The sentences about connections, what cost most first."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from multitracer.diagnosis.field.causes import FULL_LINK, OF_LOSS, RECOVERY, SLOW_START
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.facts import Flow, KernelCounts, Object
from multitracer.diagnosis.field.groups import Group, groups
from multitracer.diagnosis.field.kernel import contradiction
from multitracer.diagnosis.field.late_data import late_data, took_most
from multitracer.diagnosis.field.queues import queues
from multitracer.diagnosis.field.sentences import text
from multitracer.diagnosis.findings.finding import Finding


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
        Whether the captures dropped no packet, as far as their files show.

    Returns
    -------
    list of Finding
        Empty if none carried data. One without a text has a cost, and is not worth a sentence.
    """
    known, gone = kernel or {}, lost or {}
    seen_flows = (
        flow(entry, known.get(entry["index"]), complete=complete, lost=gone.get(entry["index"]))
        for entry in entries
    )
    flows = [one for one in seen_flows if one is not None]
    found = groups(flows)
    # The losses of a connection are reported once: by the first sentence that is about it, else by the first.
    about = any(group.kind in OF_LOSS for group in found)
    with_losses: set[int] = set()
    of_their_own = {one.index for group in found if group.kind in RECOVERY for one in group.flows}
    shown = {(one.sender, one.receiver) for group in found if group.kind in FULL_LINK for one in group.flows}
    sentences = []
    for place, group in enumerate(found):
        if place and (_usual_opening(group) or _carries_little(group, flows)):
            sentences.append(Finding("", group.cost_s, group.kind, of_s=group.total_s))
            continue
        mine = {one.index for one in group.flows}
        if group.kind in RECOVERY:
            # Others between the same hosts showed a full link.
            group = replace(group, flows=tuple(_beside_shown(one, shown) for one in group.flows))
        with_loss = (group.kind in OF_LOSS or (place == 0 and not about)) and not mine <= with_losses
        with_loss = with_loss and not (group.kind in FULL_LINK and mine <= of_their_own)
        said = text(group, with_loss=with_loss)
        sentences.append(Finding(said, group.cost_s, group.kind, command, of_s=group.total_s))
        if with_loss:
            with_losses |= mine
    sentences += queues(flows, found, [one.text for one in sentences])
    late = late_data(flows, command)
    if late is not None:
        sentences.insert(0 if took_most(flows) else len(sentences), late)
    overruled = contradiction(flows)
    return [*sentences[:1], overruled, *sentences[1:]] if overruled is not None else sentences


def _beside_shown(one: Flow, shown: Container[tuple[str, str]]) -> Flow:
    return replace(one, link_hidden=one.link_hidden and (one.sender, one.receiver) not in shown)


_LITTLE, _COVERED = 0.001, 0.8
"""Applications with less data get no sentence after others that were active for this part of the time."""


def _carries_little(group: Group, flows: list[Flow]) -> bool:
    """Whether applications had next to nothing to send, as on control connections, while others sent."""
    mine = {one.index for one in group.flows}
    others = [one for one in flows if one.index not in mine]
    if group.kind != "idle_application" or not others:
        return False
    little = sum(one.unique_bytes for one in group.flows) < _LITTLE * sum(one.unique_bytes for one in others)
    start_s, end_s = min(one.start_s for one in others), max(one.end_s for one in others)
    beside_s = sum(max(min(one.end_s, end_s) - max(one.start_s, start_s), 0.0) for one in group.flows)
    return little and beside_s >= _COVERED * sum(one.end_s - one.start_s for one in group.flows)


_OPENING = 0.25
"""A handshake without a loss is reported from this part of the time on."""


def _usual_opening(group: Group) -> bool:
    """Whether all that it reports is a handshake of one RTT: every connection has one."""
    handshakes = [flow.limits_s.get("handshake", 0.0) for flow in group.flows]
    late = any(flow.syn_timeouts for flow in group.flows)
    if late or group.kind != SLOW_START or sum(handshakes) <= group.seconds / 2 or group.weight >= _OPENING:
        return False
    # A SYN waits in an existing queue, too.
    return all(
        flow.base_rtt_ms is not None
        and spent_s <= 2 * (flow.base_rtt_ms + (flow.queue_ms[1] if flow.queue_ms else 0.0)) / 1e3
        for flow, spent_s in zip(group.flows, handshakes, strict=True)
    )
