"""What the kernel's own counters report of retransmissions and drops: they overrule a capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.diagnosis.field.facts import Flow, KernelCounts
from multitracer.diagnosis.findings.finding import Finding
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.lazy import np
from multitracer.model.quantities import count
from multitracer.model.timeline import Connection, Timeline


def kernel_counts(m: Timeline, host: Mapping[str, Any]) -> dict[int, KernelCounts]:
    """What the data sender's kernel counted, by connection.

    Parameters
    ----------
    m : Timeline
    host : mapping
        Summary of `host`; empty if none was recorded. Its counts are the whole host's: they are a
        connection's only if no other sent data.

    Notes
    -----
    ``total_retrans`` (ss, tcp_info) has the retransmissions that the host's own queue refused as well
    (TCPRetransFail): they never reached the wire. A recording has both counters.
    """
    found = {conn: KernelCounts(total) for conn, total in _total_retrans(m).items()}
    carrying = [one for one in m.connections if _sends(one)] if host else []
    if len(carrying) != 1:
        return found
    of_host = next((one for one in (host, *host["points"].values()) if one["point"] == "snd"), None)
    if of_host is None:
        return found
    conn = carrying[0].index
    counted, dropped = of_host["retransmissions"]["counted"], of_host["qdisc"]["dropped"]
    before = found[conn].retransmissions if conn in found else None
    refused = of_host["retransmissions"]["refused"]
    return found | {conn: KernelCounts(before if counted is None else counted, dropped or None, refused)}


def _sends(connection: Connection) -> bool:
    direction = ("forward", "reverse")[connection.data_dir]
    return any(summary[direction]["data_bytes"] for summary in connection.summaries.values())


def _total_retrans(m: Timeline) -> dict[int, int]:
    """The kernel's last word (ss, tcp_info: ``total_retrans``), by connection."""
    if not m.rows("tcp_states"):
        return {}
    states = m.table("tcp_states")
    known = states.where((states["retrans_total"] >= 0) & (states["conn"] >= 0))
    directions = {one.index: one.data_dir for one in m.connections} if len(known) else {}
    found: dict[int, int] = {}
    for conn in sorted_unique(known["conn"]).tolist():
        mine = (known["conn"] == conn) & (known["dir"] == directions.get(conn, -1))
        if np.any(mine):
            found[conn] = int(known["retrans_total"][mine].max())
    return found


def contradiction(flows: Sequence[Flow]) -> Finding | None:
    """The sentence where the kernel retransmitted more than the captures show; None if they agree.

    The kernel's counter may be older than the end of the transfer: less than what was captured contradicts
    nothing.
    """
    counted = [flow for flow in flows if flow.kernel_retransmissions is not None]
    missing = [flow for flow in counted if (flow.kernel_retransmissions or 0) > flow.retransmissions]
    if not missing:
        return None
    kernel = sum(flow.kernel_retransmissions or 0 for flow in missing)
    seen = sum(flow.retransmissions for flow in missing)
    others = f"the other {kernel - seen:,}"
    why = (
        f"{others} were dropped in the sender's own queue, or look like new data"
        if all(flow.point == "snd" for flow in missing)
        else f"{others} did not pass this capture, or look like new data"
    )
    refused = sum(flow.kernel_refused or 0 for flow in missing)
    text = f"the kernel counted {count(kernel, 'retransmission')}, the capture shows {seen:,}: {why}"
    if refused:
        text = (
            f"the kernel tried {count(kernel + refused, 'retransmission')}: the sender's own queue did not "
            f"accept {refused:,} (TCPRetransFail) and accepted {kernel:,}, of which the capture shows "
            f"{seen:,}; {why}"
        )
    return Finding(text, 0.0, "kernel_count")
