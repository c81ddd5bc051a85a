"""What joining a kernel's or an application's log to a capture starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from multitracer.alignment.connections import Merged
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.trace import Trace


@frozen
class Log:
    """A log that is to be placed on the timeline.

    Attributes
    ----------
    index : int
        Its number among the sources.
    trace : Trace
    span_ns : (int, int)
        First and last time, as stamped.
    """

    index: int
    trace: Trace
    span_ns: tuple[int, int]


@frozen
class Captures:
    """The captures that are on the timeline already.

    Attributes
    ----------
    merged : sequence of Merged
        Connections that they have in common.
    segments : mapping of int to Table
        By capture: connections and directions in common terms, times on the reference timeline.
    preferred : sequence of int
        In the order in which they are tried; one at the sender first.
    points : mapping of int to str or None
        Observation point of each ("snd", "rcv", "mid"); None where it is not known.
    """

    merged: Sequence[Merged]
    segments: Mapping[int, Table]
    preferred: Sequence[int]
    points: Mapping[int, str | None] = field(default_factory=dict)
