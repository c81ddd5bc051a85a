"""What an analyzer is, what it returns, and all results of a measurement together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


@frozen
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
    key : str
        Key of the JSON object under which the summary stands, as the analyzer declares it; the pipeline fills
        it in.
    """

    name: str
    summary: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    inconclusive: str | None = None
    key: str = ""


def summary_of(results: Mapping[str, Result], name: str) -> dict[str, Any]:
    """The summary of one result; empty if the analyzer was not asked or could not answer."""
    found = results.get(name)
    return {} if found is None or found.inconclusive is not None else found.summary


@frozen
class BatchColumn:
    """A column of a batch's summary that an analyzer fills.

    Attributes
    ----------
    name : str
        Column name, with its unit.
    text : str
        What it holds, for the docs; begins with "of the measurement: " where all connections share the value.
    values : callable
        ``values(summary)``: out of the analyzer's summary, a number, text or None by connection index; or one
        value for all connections.
    compared : bool
        Whether ``batch --compare`` compares it by default.
    numeric : bool
        Whether it is a number.
    """

    name: str
    text: str
    values: Callable[[Mapping[str, Any]], Any]
    compared: bool = False
    numeric: bool = True


@frozen
class Analyzer:
    """One question.

    Attributes
    ----------
    name : str
        Key of its result.
    question : str
        In words, for `--help` and the docs.
    needs : tuple of str
        Names of tables that must have rows ("segments", "link_frames", ...), of points ("snd", "rcv"),
        "logged" (a transfer that only a log reports), "conditions" (numbers of a link over time), and of
        other analyzers whose results it uses ("result:link_resets"). The pipeline orders by them and answers
        "inconclusive: needs ..." for what is missing; of tables, or analyzers, joined by "|", one is enough.
        Results that are used only if present: `uses`.
    run : callable
        ``run(measurement, results) -> Result``.
    specific : bool
        About one kind of trace only (DCCP): where there is none, the question does not arise, and is answered
        only if asked by name.
    key : str
        Key of the JSON object of ``analyze --json`` for its summary (null if inconclusive); without one the
        summary stands below ``other``.
    batch : tuple of BatchColumn
        Columns that it adds to the summary of a batch.
    link_uses : tuple of str
        Other results that it uses if present, in addition to those in `uses`, where there is a log of the
        link.
    """

    name: str
    question: str
    run: Callable[[Timeline, Mapping[str, Result]], Result]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    specific: bool = False
    key: str = ""
    batch: tuple[BatchColumn, ...] = ()
    link_uses: tuple[str, ...] = ()


def answered(results: Mapping[str, Result], *names: str) -> bool:
    """Whether these questions were asked, and have an answer.

    Parameters
    ----------
    results : mapping of str to Result
        Results by analyzer.
    names : str
        Analyzers.
    """
    return all(name in results and results[name].inconclusive is None for name in names)
