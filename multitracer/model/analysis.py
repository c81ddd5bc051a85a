"""What an analyzer is, what it returns, and all results of a measurement together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


@dataclass(frozen=True)
class Result:
    """The answer to one question.

    Attributes
    ----------
    name : str
        Name of the analyzer.
    summary : dict
        The answer in plain values (JSON-serialisable; times in seconds from the first TCP event). Connections
        of a summed-up capture are a sequence that makes each when it is asked for
        (`multitracer.model.derived`).
    tables : dict of str to Table
        The rows behind it, each under a declared schema.
    inconclusive : str or None
        Why there is no answer ("needs a link log"); then `summary` is empty.
    """

    name: str
    summary: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    inconclusive: str | None = None


@dataclass(frozen=True)
class Analyzer:
    """One question.

    Attributes
    ----------
    name : str
        Key of its result.
    question : str
        In words, for `--help` and the docs.
    needs : tuple of str
        Names of tables that must have rows ("segments", "link_frames", ...), of points ("snd", "rcv"), and of
        other analyzers whose results it uses ("result:link_resets"). The pipeline orders by them and answers
        "inconclusive: needs ..." for what is missing; of tables joined by "|", one is enough. Results that
        are used only if present: `uses`.
    run : callable
        ``run(measurement, results) -> Result``.
    specific : bool
        About one kind of trace only (DCCP): where there is none, the question does not arise, and is answered
        only if asked by name.
    """

    name: str
    question: str
    run: Callable[[Timeline, Mapping[str, Result]], Result]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    specific: bool = False
