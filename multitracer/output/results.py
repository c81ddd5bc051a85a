"""All answers about a measurement together, as a user meets them in Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitracer.model.analysis import Result
from multitracer.model.derived import plain
from multitracer.model.errors import UsageError
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    import pandas as pd


class Answer:
    """The answer to one question, with a repr for people.

    Attributes
    ----------
    name : str
    summary : dict
        Plain values; times in seconds from the first TCP event.
    inconclusive : str or None
        Why there is no answer.
    """

    __slots__ = ("result",)

    def __init__(self, result: Result) -> None:
        self.result = result

    @property
    def name(self) -> str:
        """Name of the analyzer."""
        return self.result.name

    @property
    def summary(self) -> dict[str, Any]:
        """The answer in plain values."""
        return plain(self.result.summary)

    @property
    def inconclusive(self) -> str | None:
        """Why there is no answer; None if there is one."""
        return self.result.inconclusive

    @property
    def value(self) -> Any:
        """The one number of the answer (``summary["value"]``); None if it has none or is inconclusive."""
        return self.result.summary.get("value")

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __float__(self) -> float:
        if self.value is None:
            raise UsageError(f"{self.name} has no value: {self.inconclusive or 'it is not one number'}")
        return float(self.value)

    def frame(self, table: str | None = None) -> pd.DataFrame:
        """The rows behind the answer as pandas; of an answer without rows, one row of its numbers.

        Parameters
        ----------
        table : str, optional
            By default the one named like the answer, else its first.

        Returns
        -------
        DataFrame
            Where the answer is a list of entries (``connections``), one row each, with a column for every
            number inside: ``bytes.unique``, ``rtt_ms.mean``.

        Raises
        ------
        UsageError
            No such table, or no answer.
        """
        tables = self.result.tables
        if table is None and self.name in tables:
            table = self.name
        elif table is None and tables:
            table = next(iter(tables))
        if table is None and self.inconclusive is None:
            return self._entries()
        if table not in tables:
            have = ", ".join(tables) or "none"
            why = f" ({self.inconclusive})" if self.inconclusive else ""
            raise UsageError(f"{self.name}: no table{f' {table!r}' if table else ''}; it has {have}{why}")
        return tables[table].frame()

    def _entries(self) -> pd.DataFrame:
        import pandas as pd

        summary = self.summary
        entries = summary.get(self.name, summary.get("connections"))
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            entries = [summary] if summary else []
        return pd.json_normalize(entries)

    def __repr__(self) -> str:
        if self.inconclusive is not None:
            return f"<{self.name}: inconclusive, {self.inconclusive}>"
        return f"<{self.name}: {_brief(self.summary)}>"

    def _repr_html_(self) -> str:
        return f"<b>{_escaped(self.name)}</b>{_html_body(self.result)}"


class Answers:
    """Named results of one measurement.

    Each result is an attribute (``analysis.utilization``) and prints itself; `results` holds the plain
    `Result` objects.

    Parameters
    ----------
    measurement : Timeline
    results : mapping of str to Result
    """

    def __init__(self, measurement: Timeline, results: Mapping[str, Result]) -> None:
        self.measurement = measurement
        self.results: dict[str, Result] = dict(results)

    def __getattr__(self, name: str) -> Answer:
        results = self.__dict__.get("results", {})
        if name in results:
            return Answer(results[name])
        raise AttributeError(f"no result {name!r}; this analysis has {', '.join(results) or 'none'}")

    def __getitem__(self, name: str) -> Answer:
        if name not in self.results:
            raise KeyError(name)
        return Answer(self.results[name])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.results})

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that ``multitracer analyze --json`` prints (docs/json.md)."""
        from multitracer.output.contract import analysis_object

        return plain(analysis_object(self.measurement, self.results))

    def contract(self, most: int) -> dict[str, Any]:
        """`to_dict`, but of more than `most` connections each is made when it is asked for."""
        from multitracer.output.contract import analysis_object

        made = dict(analysis_object(self.measurement, self.results))
        return made if len(made["connections"]) > most else plain(made)

    def json_pieces(self) -> Iterator[str]:
        """`to_json` piece by piece: of a large capture, neither text nor object is ever held whole."""
        from multitracer.output import jsontext
        from multitracer.output.contract import analysis_object

        return jsontext.pieces(analysis_object(self.measurement, self.results))

    def to_json(self, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        if indent == 2:
            return "".join(self.json_pieces())
        import json

        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def __repr__(self) -> str:
        lines = [f"<Analysis of {_paths(self.measurement)}"]
        lines += [f"  {place}. {text}" for place, text in enumerate(self._sentences(), 1)]
        for result in self.results.values():
            text = f"inconclusive, {result.inconclusive}" if result.inconclusive else _brief(result.summary)
            lines.append(f"  {result.name}: {text}")
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top'>{_escaped(result.name)}</th>"
            f"<td style='text-align:left'>{_html_body(result)}</td></tr>"
            for result in self.results.values()
        )
        listed = "".join(f"<li style='text-align:left'>{_escaped(text)}</li>" for text in self._sentences())
        table = f"<table><caption>{_escaped(_paths(self.measurement))}</caption>{rows}</table>"
        return (
            f"<ol>{listed}</ol><details><summary>All results</summary>{table}</details>" if listed else table
        )

    def _sentences(self) -> list[str]:
        """The diagnosis, the main cause first; empty if it was not asked for."""
        found = self.results.get("diagnosis")
        sentences = found.summary.get("sentences", ()) if found is not None else ()
        return [f"{one['text'][:1].upper()}{one['text'][1:].rstrip('.')}." for one in sentences]


def _paths(measurement: Timeline) -> str:
    """The directory that all files lie in, else the files."""
    paths = [source.path for source in measurement.sources]
    directories = {os.path.dirname(path) for path in paths}
    if len(paths) > 1 and len(directories) == 1 and directories != {""}:
        return f"{directories.pop()} ({len(paths)} files)"
    return ", ".join(paths)


def _brief(summary: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_short(value)}" for key, value in summary.items()) or "nothing found"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        if all(isinstance(inner, int | float | str | None) for inner in value.values()):
            return "{" + ", ".join(f"{key}: {_short(inner)}" for key, inner in value.items()) + "}"
        return "{" + ", ".join(str(key) for key in value) + "}"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return f"[{len(value)}]"
    return str(value)


def _escaped(text: str) -> str:
    import html  # for notebooks alone

    return html.escape(text)


def _html_body(result: Result) -> str:
    if result.inconclusive is not None:
        return f"<i>inconclusive: {_escaped(result.inconclusive)}</i>"
    items = "".join(
        f"<tr><td style='text-align:left'>{_escaped(str(key))}</td>"
        f"<td style='text-align:left'>{_escaped(_short(value))}</td></tr>"
        for key, value in result.summary.items()
    )
    return f"<table>{items}</table>"
