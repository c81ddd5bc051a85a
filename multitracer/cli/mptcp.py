"""Multipath TCP in words: each transfer, and what its subflows carried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.model.quantities import count


def lines(found: Mapping[str, Any], shown: int) -> Iterator[tuple[str, str]]:
    """Label and text of each line, of so many transfers at most.

    Parameters
    ----------
    found : mapping
        `mptcp` of docs/json.md.
    shown : int
        Transfers to print; the rest is counted.
    """
    for number, transfer in enumerate(found["transfers"][:shown]):
        direction = transfer["data_direction"]
        whole = transfer[direction]
        subflows = count(len(transfer["subflows"]), "subflow")
        if whole is None or not whole["bytes"]:
            yield f"Transfer {number}", f"{subflows}, no data of known place"
            continue
        text = f"{whole['bytes']:,} bytes over {subflows}"
        text += f", {whole['reinjected']:,} reinjected on another one"
        if whole["unmapped"]:
            text += f", {whole['unmapped']:,} of unknown place"
        yield f"Transfer {number}", text
        for one in transfer["subflows"]:
            yield "", _subflow(one, one[direction])
    left = len(found["transfers"]) - shown + found["left_out"]
    if left > 0:
        yield "", f"and {left:,} more transfers"
    for label, name in (("Refused", "refused"), ("Transfer unknown", "unassigned")):
        if found[name]:
            conns = ", ".join(map(str, found[name][:shown]))
            more = f" and {len(found[name]) - shown:,} more" if len(found[name]) > shown else ""
            yield label, f"connections {conns}{more}"


def _subflow(one: Mapping[str, Any], carried: Mapping[str, Any] | None) -> str:
    text = f"connection {one['conn']} ({one['opened']}{', backup' if one['backup'] else ''}): "
    if carried is None:
        return text + "unknown"
    share = "" if carried["share"] is None else f" ({carried['share']:.1%})"
    return text + f"{carried['bytes']:,} bytes{share}, {carried['reinjected']:,} reinjected"
