"""Tables of the page about radio links: who had the air, and how a bearer delivered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.report.markup import Markup, join
from multitracer.report.page_text import rate, share
from multitracer.report.sortable import Number, Row, sortable, span, whole

Object = Mapping[str, Any]

_OWNERS = {
    "own": "this link",
    "others": "other stations and networks",
    "everybody": "beacons and frames to groups",
    "damaged": "damaged frames, from any sender",
}


def radio_tables(contract: Object) -> Markup:
    """Those of the links that are there; empty markup for others."""
    return join(_air(contract["air"]), _rates(contract["air"]), _bearer(contract["other"].get("bearer")))


def _air(found: Object | None) -> Markup:
    if found is None or found["shares"] is None:
        return Markup("")
    rows = (
        Row((_OWNERS[name], _share(part), span(part * found["span_s"])))
        for name, part in found["shares"].items()
        if part
    )
    note = "Of the frames that the monitor received: noise and stations out of range are not included."
    return sortable("air", "Use of the channel", ("frames of", "share", "for"), rows, note)


def _rates(found: Object | None) -> Markup:
    def rows() -> Iterator[Row]:
        for entity in found["entities"] if found is not None else ():
            for one in entity["rates"]:
                if one["rate_bps"]:
                    yield Row(
                        (
                            str(entity["entity"]),
                            Number(one["rate_bps"], rate(one["rate_bps"])),
                            whole(one["mcs"]),
                            whole(one["transmissions"]),
                            _share(one["share"]),
                            _share(one["retry_share"]),
                            span(one["airtime_s"]),
                        )
                    )

    headings = ("from", "rate", "MCS", "frames sent", "share", "retries", "airtime")
    return sortable("air-rates", "Rates on the air", headings, rows())


def _bearer(found: Object | None) -> Markup:
    rows = (
        Row(
            (
                f"{one['entity']} to {one['receiver']}",
                whole(_of(one["pdus"], "sent")),
                whole(_of(one["pdus"], "again")),
                whole(_of(one["pdus"], "transmissions_max")),
                _longest(one["polls"]["delay_ms"]),
                whole(one["reports"]["count"]),
                whole(one["reports"]["nacks"]),
                _longest(_of(one["reordering"], "delay_ms")),
                whole(one["discards"]["total"]),
            )
        )
        for one in (found or {}).get("directions") or ()
    )
    headings = (
        "direction", "PDUs", "retransmitted", "most transmissions", "longest poll", "status reports", "NACKs",
        "longest missing", "given up or not in the log",
    )  # fmt: skip
    return sortable("bearer", "Radio bearer", headings, rows)


def _of(found: Object | None, name: str) -> Any:
    return None if found is None else found[name]


def _longest(spread_ms: Object | None) -> Number:
    return span(None if spread_ms is None else spread_ms["max"] / 1e3)


def _share(part: float) -> Number:
    return Number(part, share(part))
