"""Where along the path data was lost, as three and more captures show it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command
from multitracer.model.timeline import Timeline

_WITH_LOSS = ("loss", "bottleneck", "queue")
"""Sentences about losses on the path."""


def with_hops(m: Timeline, found: Sequence[Finding], summary: Mapping[str, Any]) -> list[Finding]:
    """Name the hops that lost data in the sentence about losses; if there is none, in a separate one.

    Parameters
    ----------
    m : Timeline
    found : sequence of Finding
    summary : mapping
        As in the result of `hops`; empty without it.

    Returns
    -------
    list of Finding
        Those given, in their order, one of them with the names; or one more after them.
    """
    where = lossy_hops(summary)
    if not where:
        return list(found)
    place = next((at for at, one in enumerate(found) if one.kind in _WITH_LOSS), None)
    if place is None:
        lost = Finding(f"segments were lost on the path: {where}", 0.0, "loss", plot_command(m, None, None))
        return [*found, lost]
    # The sentence may be on some of the connections only.
    whose = " of all connections" if len(m.connections) > 1 else ""
    located = replace(found[place], text=f"{found[place].text}; losses{whose} {where}")
    return [*found[:place], located, *found[place + 1 :]]


def lossy_hops(summary: Mapping[str, Any]) -> str:
    """``between mid.pcap and rcv.pcap: 40 of 40``: all that lost data, the worst first; empty if none did."""
    hops: Sequence[Mapping[str, Any]] = summary.get("hops", ())
    lossy = sorted((hop for hop in hops if hop["lost"]), key=lambda hop: -hop["lost"])
    whole = sum(hop["lost"] for hop in lossy)
    names = _names({hop[end] for hop in hops for end in ("from", "to")})
    return ", ".join(
        f"between {names[hop['from']]} and {names[hop['to']]}: {hop['lost']:,} of {whole:,}" for hop in lossy
    )


def _names(paths: set[str]) -> dict[str, str]:
    """Names of files, with their folders where they would be the same."""
    short = {path: os.path.basename(path) for path in paths}
    return short if len(set(short.values())) == len(short) else {path: path for path in paths}
