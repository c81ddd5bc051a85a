"""What the kernel's own counters say of retransmissions: where they contradict a capture, they are right."""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.findings.finding import Finding
from multitracer.model.lazy import np
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline


def kernel_retransmissions(m: Timeline) -> dict[int, int]:
    """Retransmissions by the kernel's last word (ss, tcp_info: ``total_retrans``), by connection."""
    if not m.rows("tcp_states"):
        return {}
    states = m.table("tcp_states")
    known = states.where((states["retrans_total"] >= 0) & (states["conn"] >= 0))
    directions = {one.index: one.data_dir for one in m.connections} if len(known) else {}
    found: dict[int, int] = {}
    for conn in np.unique(known["conn"]).tolist():
        mine = (known["conn"] == conn) & (known["dir"] == directions.get(conn, -1))
        if np.any(mine):
            found[conn] = int(known["retrans_total"][mine].max())
    return found


def contradiction(flows: Sequence[Flow]) -> Finding | None:
    """The sentence where the kernel retransmitted more than the captures show; None if they agree.

    The kernel's counter may be older than the end of the transfer: less than what was captured contradicts
    nothing.
    """
    told = [flow for flow in flows if flow.kernel_retransmissions is not None]
    missing = [flow for flow in told if (flow.kernel_retransmissions or 0) > flow.retransmissions]
    if not missing:
        return None
    kernel = sum(flow.kernel_retransmissions or 0 for flow in missing)
    seen = sum(flow.retransmissions for flow in missing)
    why = (
        "the others never left the sender's own queue"
        if all(flow.point == "snd" for flow in missing)
        else "the others never passed this capture, or look like new data here"
    )
    text = f"the kernel counted {count(kernel, 'retransmission')}, the capture shows {seen:,}: {why}"
    return Finding(text, 0.0, "kernel_count")
