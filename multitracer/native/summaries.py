"""What connections come to, as the core holds it for a capture that was read without tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import multitracer._core as _core

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def are_summaries(connections: object) -> TypeIs[_core.Summaries]:
    """Whether these are the connections of a capture that was read without tables, as the core holds them."""
    return isinstance(connections, _core.Summaries)


def overview(summaries: _core.Summaries) -> tuple[int | None, int | None]:
    """Time of the first segment of all, and which connection has most payload in one direction."""
    return summaries.overview()


def digest(summaries: _core.Summaries, most: int) -> dict[str, Any]:
    """As `multitracer.output.digest.digest` of the entries of these."""
    return summaries.digest(most)


def endpoints(summaries: _core.Summaries) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """Address and port of both ends of each connection."""
    return [(first, second) for first, second in summaries.endpoints()]


def connection_entries(
    summaries: _core.Summaries, source: str, point: str, t0_ns: int, *, flat: bool
) -> Iterator[bytes]:
    """``connections`` of docs/json.md as text, without making them, piece by piece.

    Parameters
    ----------
    summaries : Summaries
        Each entry but the first has a comma before it.
    source, point : str
        Path and observation point of the capture, as JSON.
    t0_ns : int
        Zero of all times, on the clock of the capture.
    flat : bool
        Without line breaks.

    Yields
    ------
    bytes
        UTF-8, of as many entries as fit into one piece.
    """
    return summaries.entries(source, point, t0_ns, flat)
