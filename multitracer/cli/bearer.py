"""How a radio bearer delivered, in words: polls, reports, reordering, repetition, what it gave up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words

Object = Mapping[str, Any]


def lines(found: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line about the bearer of an analysis."""
    for direction in found.get("directions", []):
        name = direction["entity"]
        pdus = direction["pdus"]
        if pdus is None:
            yield f"  {name}", "logged at the receiver only: transmissions per PDU are unknown"
        else:
            yield f"  {name}", _repeated("PDU", pdus) + _cut(direction["segmentation"])
            if direction["sdus"] is not None and direction["sdus"]["again"]:
                yield "", _repeated("packet", direction["sdus"]) + " (by the segment sent most often)"
        yield from (("", text) for text in _acknowledging(direction) if text)


def _acknowledging(direction: Object) -> Iterator[str]:
    polls, reports = direction["polls"], direction["reports"]
    if polls["sent"]:
        asked = words.count(polls["sent"], "poll")
        yield f"{asked}, {polls['answered']:,} answered" + _after("after", polls["delay_ms"])
    if reports["count"]:
        rate = "" if reports["per_s"] is None else f" ({reports['per_s']:.1f} a second)"
        said = f"{words.count(reports['count'], 'status report')} from {direction['receiver']}{rate}"
        most = reports["nacks_per_report_max"]
        nacks = f"; {reports['nacks']:,} NACKs in {reports['with_nacks']:,} of them, at most {most}"
        yield said + (nacks if reports["nacks"] else "; nothing missing")
    order = direction["reordering"]
    if order is not None and order["overtaken"]:
        yield (
            f"{words.count(order['overtaken'], 'PDU')} out of order, {order['filled']:,} of them arrived"
            + _after("after", order["delay_ms"])
            + _after("reported missing after", order["reported_ms"], "; ")
        )
        yield f"{words.count(order['pdus_held'], 'PDU')} held in the reordering buffer" + _after(
            "for", order["held_ms"]
        )
    given_up = direction["discards"]
    if given_up["total"]:
        sure = given_up["certain"]
        parts = {
            "unsent": "before transmission (PDCP sequence number skipped)"
            if sure
            else "with a PDCP sequence number that is skipped",
            "reset": "in a reset",
            "held": "received before a reset, after a sequence gap",
            "unfilled": "that never arrived",
        }
        why = ", ".join(f"{given_up[key]:,} {text}" for key, text in parts.items() if given_up[key])
        what = "Discarded" if sure else "Discarded, or not in the log"
        yield f"{what}: {words.count(given_up['total'], 'packet')}: {why}"
    harq = direction["harq"]
    if harq is not None and harq["blocks"]:
        again = f"{harq['again']:,} retransmitted, at most {words.count(harq['attempts_max'], 'attempt')}"
        blocks = words.count(harq["blocks"], "transport block")
        yield f"HARQ: {blocks}, {again if harq['again'] else 'none retransmitted'}"


def _repeated(what: str, sent: Object) -> str:
    counts = {int(times): count for times, count in sent["by_transmissions"].items()}
    twice = ", ".join(
        f"{count:,} transmitted {times} times" for times, count in sorted(counts.items()) if times > 1
    )
    return f"{words.count(sent['sent'], what)}" + (f": {twice}" if twice else ", each transmitted once")


def _cut(found: Object | None) -> str:
    if found is None or not (found["segmented"] or found["resegmented"]):
        return ""
    return f"; {found['segmented']:,} segmented, {found['resegmented']:,} resegmented"


def _after(word: str, spread: Object | None, before: str = " ") -> str:
    if spread is None:
        return ""
    return f"{before}{word} {spread['median']:.4g} ms (median), {spread['max']:.4g} ms at most"
