"""Joining logs to each other where there is no capture: by what a socket in one of them saw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from multitracer.alignment import socket_observer
from multitracer.alignment.relation import Relation

if TYPE_CHECKING:
    from multitracer.alignment.state import AlignmentState


def join(state: AlignmentState) -> None:
    """Place logs that share arrivals with one on the timeline; nothing if there is a capture on it."""
    if any(state.settled(i) for i in state.path):
        return
    seen = [one for i in state.layer("kernel") for one in socket_observer.observers(i, state.traces[i])]
    links = [i for i in state.layer("link") if "link_frames" in state.traces[i].tables]
    tried: set[tuple[int, int]] = set()
    for _ in state.traces:  # each round may place what the next one builds on
        for number, one in enumerate(seen):
            for other in [*links, *(i for i in state.layer("kernel") if i != one.source)]:
                if state.settled(other) == state.settled(one.source) or (number, other) in tried:
                    continue
                tried.add((number, other))
                relation = _relation(state, one, other, other in links)
                if relation is not None:
                    state.place(relation.b, relation.fit.pieces)
                    state.relations.append(relation)


def _relation(
    state: AlignmentState, one: socket_observer.SocketObserver, other: int, link: bool
) -> Relation | None:
    trace, span = state.traces[other], state.span(other)
    on_timeline = state.settled(one.source)
    if on_timeline:
        clock = state.nominal[one.source]
        t_ns = clock.apply(one.states["t_ns"], one.states["record"])
        one = replace(one, states=one.states.replace(t_ns=t_ns))
    relation = (
        socket_observer.join_link(other, trace, state.entity_sides, one, span)
        if link
        else socket_observer.join_log(other, trace, one, span)
    )
    if relation is None or on_timeline:
        return relation
    return socket_observer.turned(relation, state.nominal[other].apply, state.span(one.source))
