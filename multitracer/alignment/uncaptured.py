"""Joining logs to each other where there is no capture: by what a socket in one of them saw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from multitracer.alignment import witness
from multitracer.alignment.relation import Relation

if TYPE_CHECKING:
    from multitracer.alignment.work import Work


def join(work: Work) -> None:
    """Place logs that share arrivals with one on the timeline; nothing if there is a capture on it."""
    if any(work.settled(i) for i in work.path):
        return
    seen = [one for i in work.layer("kernel") for one in witness.witnesses(i, work.traces[i])]
    links = [i for i in work.layer("link") if "link_frames" in work.traces[i].tables]
    tried: set[tuple[int, int]] = set()
    for _ in work.traces:  # each round may place what the next one builds on
        for number, one in enumerate(seen):
            for other in [*links, *(i for i in work.layer("kernel") if i != one.source)]:
                if work.settled(other) == work.settled(one.source) or (number, other) in tried:
                    continue
                tried.add((number, other))
                relation = _relation(work, one, other, other in links)
                if relation is not None:
                    work.place(relation.b, relation.fit.pieces)
                    work.relations.append(relation)


def _relation(work: Work, one: witness.Witness, other: int, link: bool) -> Relation | None:
    trace, span = work.traces[other], work.span(other)
    on_timeline = work.settled(one.source)
    if on_timeline:
        clock = work.nominal[one.source]
        t_ns = clock.apply(one.states["t_ns"], one.states["record"])
        one = replace(one, states=one.states.replace(t_ns=t_ns))
    relation = (
        witness.join_link(other, trace, work.entity_sides, one, span)
        if link
        else witness.join_log(other, trace, one, span)
    )
    if relation is None or on_timeline:
        return relation
    return witness.turned(relation, work.nominal[other].apply, work.span(one.source))
