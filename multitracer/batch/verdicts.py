"""The outcome of a batch for continuous integration: JUnit's XML, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from multitracer.batch.outcome import Batch, Record, flag_rule, goodput_bps
from multitracer.batch.rules import Broken
from multitracer.model import quantities

MOST_ROWS = 200
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(found: Batch, broken: Sequence[Broken]) -> bytes:
    """A suite with a case for each measurement: broken rules are failures; no analysis is an error.

    Rules about the whole batch are a case of their own.
    """
    by_name: dict[str, list[Broken]] = {}
    for one in broken:
        by_name.setdefault(one.measurement, []).append(one)
    suite = Element("testsuite", name="multitracer")
    for record in found.records:
        case = SubElement(suite, "testcase", classname="multitracer.batch", name=_xml(record["name"]))
        if record["status"] != "done":
            error = SubElement(case, "error", message=_xml(record["error"]["text"]))
            error.set("type", _xml(record["error"]["kind"]))
        _failures(case, by_name.get(record["name"], ()))
        if record["status"] == "done" and record["diagnosis"]:
            output = SubElement(case, "system-out")
            output.text = _xml("\n".join(one["text"] for one in record["diagnosis"]))
    if by_name.get(""):
        _failures(SubElement(suite, "testcase", classname="multitracer.batch", name="baseline"), by_name[""])
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _failures(case: Element, broken: Sequence[Broken]) -> None:
    for one in broken:
        failure = SubElement(case, "failure", message=_xml(one.text))
        failure.set("type", _xml(one.rule))


def markdown(found: Batch, broken: Sequence[Broken]) -> str:
    """A summary to show in a pull request: what broke a rule, what is flagged, what failed."""
    lines = [
        "# Measurements",
        "",
        f"{len(found.done):,} analysed, {len(found.flagged):,} flagged ({flag_rule(found)}), "
        f"{len(found.failed):,} failed, {len(broken):,} rules broken.",
    ]
    if broken:
        lines += ["", "## Rules broken", "", "| measurement | rule | found |", "|---|---|---|"]
        lines += [_row(one.measurement or "(baseline)", one.rule, one.text) for one in broken[:MOST_ROWS]]
        lines += _more(len(broken))
    if found.flagged:
        lines += ["", "## Flagged", "", "| measurement | utilization | goodput | why |", "|---|---|---|---|"]
        lines += [
            _row(
                record["name"],
                _used(record),
                _goodput(record),
                _why(record),
            )
            for record in found.flagged[:MOST_ROWS]
        ]
        lines += _more(len(found.flagged))
    if found.failed:
        lines += ["", "## Failed", "", "| measurement | why |", "|---|---|"]
        lines += [_row(record["name"], record["error"]["text"]) for record in found.failed[:MOST_ROWS]]
        lines += _more(len(found.failed))
    return "\n".join(lines) + "\n"


def _more(count: int) -> list[str]:
    return ["", f"and {count - MOST_ROWS:,} more in summary.csv"] if count > MOST_ROWS else []


def _used(record: Record) -> str:
    value = record["utilization"]["value"]
    return "unknown" if value is None else f"{100 * value:.1f}%"


def _goodput(record: Record) -> str:
    value = goodput_bps(record)
    return "" if value is None else quantities.rate(value)


def _why(record: Record) -> str:
    return next((str(one["text"]) for one in record["diagnosis"] if one["kind"] != "utilization"), "")


def _row(*cells: object) -> str:
    """A row whose cells cannot be taken for markup, nor for another cell."""
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(cell: object) -> str:
    words = " ".join(str(cell).split())
    words = re.sub(r"([\\`*_{}\[\]|#~])", r"\\\1", words)
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _xml(text: object) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", str(text))
