"""Multipath TCP seen as one transfer: its subflows, and what each of them carried.

It declares all about itself, and loads nothing heavy before it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from multitracer.model.analysis import Analyzer, BatchColumn, Result

if TYPE_CHECKING:
    from multitracer.layers.tcp.multipath import Carried, Transfer
    from multitracer.model.timeline import Timeline

_DIRECTIONS = ("forward", "reverse")
_LISTED = 1_000
"""Transfers described: there may be very many."""


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Group connections by token and key, and count bytes and reinjections of each subflow.

    Returns
    -------
    Result
        ``transfers``: the first 1,000, each with its ``subflows``; ``left_out`` counts the rest. ``refused``:
        connections whose offer of Multipath TCP was refused. ``unassigned``: subflows of unknown transfers.

    References
    ----------
    RFC 8684 sections 3.1 to 3.3; RFC 6824 (version 0).
    """
    from multitracer.layers.tcp.multipath import transfers

    found = transfers(m)
    return Result(
        "mptcp",
        {
            "transfers": [_entry(m, one) for one in found.transfers[:_LISTED]],
            "left_out": max(len(found.transfers) - _LISTED, 0),
            "refused": found.refused,
            "unassigned": found.unassigned,
        },
    )


def _entry(m: Timeline, transfer: Transfer) -> dict[str, Any]:
    from multitracer.layers.tcp.multipath import carried

    both = [carried(m, transfer, direction) for direction in (0, 1)]
    sums = [_sum(found) for _, found in both]
    subflows = []
    for number, one in enumerate(transfer.subflows):
        entry: dict[str, Any] = {
            "conn": one.conn,
            "opened": "join" if one.joined else "first",
            "backup": one.backup,
            "flipped": one.flipped,
        }
        for name, (_, found), whole in zip(_DIRECTIONS, both, sums, strict=True):
            entry[name] = _carried(found[number], None if whole is None else whole["bytes"])
        subflows.append(entry)
    return {
        "version": transfer.version,
        "tokens": [None if token is None else f"{token:#010x}" for token in transfer.tokens],
        "data_direction": _DIRECTIONS[
            int((sums[1] or {"bytes": 0})["bytes"] > (sums[0] or {"bytes": 0})["bytes"])
        ],
        **dict(zip(_DIRECTIONS, sums, strict=True)),
        "sources": [None if source is None else m.sources[source].path for source, _ in both],
        "subflows": subflows,
    }


def _sum(found: list[Carried | None]) -> dict[str, int] | None:
    known = [one for one in found if one is not None]
    if not known:
        return None
    return {
        "bytes": sum(one.data for one in known),
        "reinjected": sum(one.reinjected for one in known),
        "unmapped": sum(one.unmapped for one in known),
    }


def _carried(one: Carried | None, whole: int | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "sent": one.sent,
        "unique": one.unique,
        "bytes": one.data,
        "reinjected": one.reinjected,
        "unmapped": one.unmapped,
        "share": round(one.data / whole, 4) if whole else None,
    }


def _by_connection(value: str) -> Callable[[Mapping[str, Any]], Mapping[int, Any]]:
    """Values of subflows by connection, in the direction of their transfer's data."""

    def values(summary: Mapping[str, Any]) -> Mapping[int, Any]:
        found: dict[int, Any] = {}
        for number, transfer in enumerate(summary["transfers"]):
            direction = transfer["data_direction"]
            for subflow in transfer["subflows"]:
                carried = subflow[direction] or {}
                found[subflow["conn"]] = number if value == "transfer" else carried.get(value)
        return found

    return values


ANALYZER = Analyzer(
    "mptcp",
    "What did each subflow of a Multipath TCP transfer carry?",
    run,
    needs=("mptcp",),
    specific=True,
    key="mptcp",
    batch=(
        BatchColumn("mptcp_transfer", "number of the Multipath TCP transfer", _by_connection("transfer")),
        BatchColumn("mptcp_bytes", "bytes of the transfer that the subflow carried", _by_connection("bytes")),
        BatchColumn("mptcp_reinjected", "bytes that another subflow had sent", _by_connection("reinjected")),
        BatchColumn("mptcp_share", "the subflow's share of the transfer's bytes", _by_connection("share")),
    ),
)
