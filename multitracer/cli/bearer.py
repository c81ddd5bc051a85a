"""How a radio bearer delivered, in words: polls, reports, reordering, repetition, what it gave up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words

Object = Mapping[str, Any]


def lines(found: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line about the bearer of an analysis."""
    for way in found.get("directions", []):
        name = way["entity"]
        pdus = way["pdus"]
        if pdus is None:
            yield f"  {name}", "seen at its receiver only: how often PDUs were sent is not in the log"
        else:
            yield f"  {name}", _repeated("PDU", pdus) + _cut(way["segmentation"])
            if way["sdus"] is not None and way["sdus"]["again"]:
                yield "", _repeated("packet", way["sdus"]) + " (its part sent most often)"
        yield from (("", text) for text in _acknowledging(way) if text)


def _acknowledging(way: Object) -> Iterator[str]:
    polls, reports = way["polls"], way["reports"]
    if polls["sent"]:
        asked = words.count(polls["sent"], "poll")
        yield f"{asked}, {polls['answered']:,} answered" + _after("after", polls["delay_ms"])
    if reports["count"]:
        rate = "" if reports["per_s"] is None else f" ({reports['per_s']:.1f} a second)"
        said = f"{words.count(reports['count'], 'status report')} from {way['receiver']}{rate}"
        most = reports["nacks_per_report_max"]
        nacks = f"; {reports['nacks']:,} NACKs in {reports['with_nacks']:,} of them, at most {most}"
        yield said + (nacks if reports["nacks"] else "; nothing missing")
    order = way["reordering"]
    if order is not None and order["overtaken"]:
        yield (
            f"{words.count(order['overtaken'], 'PDU')} overtaken on the way, {order['filled']:,} of them came"
            + _after("after", order["delay_ms"])
            + _after("reported missing after", order["reported_ms"], "; ")
        )
        yield f"{words.count(order['pdus_held'], 'PDU')} held back for them" + _after("for", order["held_ms"])
    given_up = way["discards"]
    if given_up["total"]:
        sure = given_up["certain"]
        parts = {
            "unsent": "before it was sent (PDCP number skipped)"
            if sure
            else "with a PDCP number that is skipped",
            "reset": "in a reset",
            "held": "received before a reset, behind what was not",
            "unfilled": "that never came",
        }
        why = ", ".join(f"{given_up[key]:,} {text}" for key, text in parts.items() if given_up[key])
        what = "given up" if sure else "given up, or not in the log"
        yield f"{what}: {words.count(given_up['total'], 'packet')}: {why}"
    harq = way["harq"]
    if harq is not None and harq["blocks"]:
        again = f"{harq['again']:,} of them again, {words.count(harq['attempts_max'], 'attempt')} at most"
        blocks = words.count(harq["blocks"], "transport block")
        yield f"HARQ: {blocks}, {again if harq['again'] else 'none of them again'}"


def _repeated(what: str, sent: Object) -> str:
    counts = {int(times): count for times, count in sent["by_transmissions"].items()}
    twice = ", ".join(f"{count:,} sent {times} times" for times, count in sorted(counts.items()) if times > 1)
    return f"{words.count(sent['sent'], what)}" + (f": {twice}" if twice else ", each sent once")


def _cut(found: Object | None) -> str:
    if found is None or not (found["segmented"] or found["resegmented"]):
        return ""
    return f"; {found['segmented']:,} cut when sent first, {found['resegmented']:,} cut again"


def _after(word: str, spread: Object | None, before: str = " ") -> str:
    if spread is None:
        return ""
    return f"{before}{word} {spread['median']:.4g} ms (median), {spread['max']:.4g} ms at most"
