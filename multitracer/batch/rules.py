"""Rules that a batch must keep, for continuous integration: ``--fail-on 'utilization<95'``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from multitracer.batch.rows import COLUMNS, NUMERIC
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen

_WRITTEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.]*)\s*(<=|>=|<|>|=)\s*(.+?)\s*")
_BREAKS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip

PERCENT = frozenset({"utilization", "utilization_low", "utilization_high", "idle_share", "duplicate_share"})
"""Shares that a rule gives in percent, as the pages do."""


@frozen
class Rule:
    """What no measurement may show.

    Attributes
    ----------
    text : str
        As the user wrote it.
    name : str
        A numeric column of the summary, ``cause``, or ``slowdown``.
    sign : str
        ``<``, ``<=``, ``>``, ``>=`` or ``=``.
    value : float or str
        A kind of sentence of the diagnosis where the name is ``cause``.
    """

    text: str
    name: str
    sign: str
    value: float | str


@frozen
class Broken:
    """A rule that a measurement broke; `measurement` is empty for one about the whole batch."""

    measurement: str
    rule: str
    text: str


def parse_rule(text: str) -> Rule:
    """Understand ``METRIC<NUMBER``, ``cause=KIND`` or ``slowdown>PERCENT``.

    Raises
    ------
    UsageError
        Another form, or a metric that the summary does not have.

    Examples
    --------
    >>> parse_rule("timeouts_spurious > 0")
    Rule(text='timeouts_spurious > 0', name='timeouts_spurious', sign='>', value=0.0)
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r}: write METRIC<NUMBER, METRIC>NUMBER, cause=KIND or slowdown>PERCENT"
        )
    name, sign, value = match.groups()
    if name == "cause":
        if sign != "=":
            raise UsageError(f"--fail-on {text!r}: write cause=KIND, as in cause=loss")
        from multitracer.diagnosis.findings.rules import RULES

        if value not in RULES:
            near = get_close_matches(value, RULES, 1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(RULES)}"
            raise UsageError(f"--fail-on {text!r}: no kind of cause {value!r}; {meant}")
        return Rule(text, name, sign, value)
    if name != "slowdown" and name not in NUMERIC:
        near = get_close_matches(name, [*NUMERIC, "cause", "slowdown"], 1)
        meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(NUMERIC)}"
        text_column = " (a column of text)" if name in COLUMNS else ""
        raise UsageError(f"--fail-on {text!r}: no metric {name!r}{text_column}{meant}")
    try:
        number = float(value.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):  # a comparison with nan is never true
        raise UsageError(f"--fail-on {text!r}: {value!r} is no number")
    if name == "slowdown" and sign not in (">", ">="):
        raise UsageError(f"--fail-on {text!r}: write slowdown>PERCENT")
    return Rule(text, name, sign, number)


def broken(rules: Sequence[Rule], records: Sequence[Mapping[str, Any]]) -> list[Broken]:
    """The rules that measurements break, in order of the measurements.

    A metric of connections is that of the worst connection. A value that is not known breaks a rule about it:
    a rule asks for proof. ``slowdown`` is about two batches: see `slowdown`.
    """
    found = []
    for record in records:
        if record["status"] != "done":
            continue
        for rule in rules:
            if rule.name == "slowdown":
                continue
            text = _cause(rule, record) if rule.name == "cause" else _metric(rule, record)
            if text:
                found.append(Broken(str(record["name"]), rule.text, text))
    return found


def slowdown(rule: Rule, share: float, tested: bool) -> Broken | None:
    """Whether a batch is slower than its baseline by more than a rule allows.

    Parameters
    ----------
    rule : Rule
        Whose name is ``slowdown``.
    share : float
        Change of the transfer time, as a share of that before.
    tested : bool
        Whether the difference is more than chance (docs/compare.md).
    """
    assert isinstance(rule.value, float)
    if tested and _BREAKS[rule.sign](100 * share, rule.value):
        return Broken("", rule.text, f"{100 * share:.1f}% slower than the baseline")
    return None


def _cause(rule: Rule, record: Mapping[str, Any]) -> str:
    from multitracer.report.sections import NO_CAUSE

    # The main cause as the pages name it; a sentence that names no cause can only be the first one.
    passed = {"utilization"} if rule.value in NO_CAUSE else NO_CAUSE
    main = next((one for one in record["diagnosis"] if one["kind"] not in passed), None)
    return str(main["text"]) if main is not None and main["kind"] == rule.value else ""


def _metric(rule: Rule, record: Mapping[str, Any]) -> str:
    assert isinstance(rule.value, float)
    scale = 100.0 if rule.name in PERCENT else 1.0
    unit = "%" if rule.name in PERCENT else ""
    values = [one.get(rule.name) for one in record["connections"]] or [None]
    known = [
        scale * float(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    wrong = [value for value in known if _BREAKS[rule.sign](value, rule.value)]
    if not wrong:
        return f"{rule.name} is unknown: not checked" if len(known) < len(values) else ""
    worst = min(wrong) if rule.sign in ("<", "<=") else max(wrong)
    return f"{rule.name} is {worst:,.6g}{unit}"
