"""What one capture shows of a connection, wherever it was taken; the kernel's own account overrules it.

The core finds it in its single pass (docs/limits.md): RTT in two halves, what limited the sender, the
bottleneck, and the observation point. Each is defined here, and nowhere else, in the words of the contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from multitracer.layers.host.local import addresses
from multitracer.layers.vantage import reference_ns
from multitracer.model.lazy import np
from multitracer.model.timeline import Connection, Timeline

NETWORK = ("congestion_window", "bandwidth", "loss_recovery")
"""Limits that the kernel's counters do not distinguish."""
_LIMITS = ("application", "receiver_window", *NETWORK, "handshake", "unknown")
_OF_APPLICATION = ("application_nagle", "application_behind")
_OF_WINDOW = ("congestion_window_before_loss", "congestion_window_after_data", "congestion_window_paced")
_PARTS = (
    *_OF_APPLICATION,
    *_OF_WINDOW,
    "loss_recovery_before_data",
    "loss_recovery_silent",
    "receiver_window_in_recovery",
    "receiver_window_paced",
)
_NOTHING: dict[str, Any] = {"rtt": None, "limits": None, "bottleneck": None, "observation": None}


def one_point(m: Timeline, connection: Connection, source: int) -> dict[str, Any]:
    """`rtt`, `limits`, `bottleneck` and `observation` of a connection, by one of its captures.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        A source that saw it.

    Returns
    -------
    dict
        As docs/json.md has them; None for what the source does not show.
    """
    summary = connection.summaries[source]
    direction: Mapping[str, Any] = summary.get(("forward", "reverse")[connection.data_dir], {})
    text = direction.get("path")
    found: dict[str, Any] = dict(_NOTHING if text is None else json.loads(text))
    if found["bottleneck"] is not None and not m.summarised:
        from multitracer.layers.tcp.link_rate import by_all_sources

        found["bottleneck"] = by_all_sources(m, connection, source, found["bottleneck"])
    kernel = kernel_limits(m, connection, source, direction, found["limits"])
    if kernel is not None:
        found["limits"] = kernel
    point = recorded_point(m, connection, source)
    if point is not None and found["observation"] is not None:
        evidence = found["observation"]["evidence"] | {"recorded_host": point}
        found["observation"] = {"point": point, "grade": "certain", "evidence": evidence}
    return found


def recorded_point(m: Timeline, connection: Connection, source: int) -> str | None:
    """The end of a connection at which a capture was recorded: that with the recorded interface's address.

    None where no recording shows it, or if both ends have addresses of that interface.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture among the sources.

    Returns
    -------
    str or None
        "snd" or "rcv": next to the sender of the bulk of the data, or to its receiver.
    """
    captures = [at for at, one in enumerate(m.sources) if one.layer == "tcp"]
    if "recorded" not in m.settings and captures != [source]:
        return None
    own = addresses(m.settings, m.sources[source].path)
    ends = [address in own for address, _ in connection.endpoints]
    if ends[0] == ends[1]:
        return None
    return "snd" if ends[connection.data_dir] else "rcv"


def kernel_limits(
    m: Timeline,
    connection: Connection,
    source: int,
    direction: Mapping[str, Any],
    inferred: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Shares by the kernel's counters (tcp_info: busy, rwnd_limited, sndbuf_limited); None without them.

    Time that is not busy had nothing to send, and so had a send buffer too small for more: both are the
    application's. A connection is busy to the kernel while anything is unacknowledged, so a writer that is
    slower than the path, yet writes more often than once in an RTT, is always busy. Where its host was
    recorded, the time in which everything written had been sent is the application's. Elsewhere, what the
    capture gives to the application beyond the kernel's count is, for at most the busy time before samples of
    the kernel with `app_limited`. What is neither that nor the receiver's window goes to the rest as
    `inferred` has them, or is unknown. Its last sample may be older than the end of the transfer: after it,
    time in which nothing was in flight is the application's, as the kernel would count it, and the rest is
    shared as before it.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture among the sources.
    direction : mapping of str to Any
        One direction of the connection's summary.
    inferred : mapping of str to Any or None
        Shares that the capture alone suggests; None where it shows nothing.

    Returns
    -------
    dict or None
        As ``limits`` of a connection (docs/json.md): shares that sum to 1, some that are parts of others,
        ``seconds``, ``seconds_before_data``, ``writes_bps`` and ``method``.
    """
    if not m.rows("tcp_states"):
        return None
    from multitracer.layers.host.sockets import unwritten
    from multitracer.model.arrays.group_by import Grouped

    states = m.table("tcp_states")
    rows = m.once("tcp_states_by_flow", lambda: Grouped(states["conn"], states["dir"])).rows(
        connection.index, connection.data_dir
    )
    rows = rows[states["busy_ns"][rows] >= 0]
    first_ns, last_ns = direction.get("first_data_ns"), direction.get("last_advance_ns")
    if not len(rows) or first_ns is None or last_ns is None:
        return None
    first_ns, last_ns = (reference_ns(m, source, t_ns) for t_ns in (first_ns, last_ns))
    last = rows[-1]
    busy, window, buffer = (
        max(int(states[f"{name}_ns"][last]), 0) for name in ("busy", "rwnd_limited", "sndbuf_limited")
    )
    known_ns = min(int(states["t_ns"][last]), last_ns)
    span_ns = max(known_ns - first_ns, busy, 1)
    window = min(window, busy)
    buffer = min(buffer, busy - window)
    network = float(busy - window - buffer)
    parts_ns = dict.fromkeys(_LIMITS, 0.0)
    parts_ns["application"] = float(span_ns - busy + buffer)
    parts_ns["receiver_window"] = float(window)
    opening = inferred["handshake"] if inferred else 0.0
    written = unwritten(m, connection)
    if written is not None:
        nothing_ns = sum(max(min(end, known_ns) - max(begin, first_ns), 0) for begin, end in written)
        starved_ns = min(max(float(nothing_ns - (span_ns - busy)), 0.0), network)
        parts_ns["application"] += starved_ns
        network -= starved_ns
    elif inferred and opening < 1:
        beyond_ns = inferred["application"] / (1 - opening) * span_ns - parts_ns["application"]
        starved = _app_limited(states["app_limited"][rows], states["busy_ns"][rows])
        starved_ns = min(max(beyond_ns, 0.0), starved * network)
        parts_ns["application"] += starved_ns
        network -= starved_ns
    weights = {name: inferred[name] if inferred else 0.0 for name in NETWORK}
    whole = sum(weights.values())
    for name, weight in weights.items():
        parts_ns[name] = network * weight / whole if whole else 0.0
    parts_ns["unknown"] = 0.0 if whole else network
    quiet_ns = nothing_outstanding_ns(m, connection, source, known_ns, last_ns)
    share_of_rest = (last_ns - known_ns - quiet_ns) / span_ns if known_ns < last_ns else 0.0
    parts_ns = {name: value * (1 + share_of_rest) for name, value in parts_ns.items()}
    parts_ns["application"] += quiet_ns
    scale = (1 - opening) / sum(parts_ns.values())
    shares: dict[str, Any] = {name: round(value * scale, 6) for name, value in parts_ns.items()}
    seconds = inferred["seconds"] if inferred else round(span_ns / 1e9, 6)
    writes_bps = inferred["writes_bps"] if inferred else None
    before_s = inferred["seconds_before_data"] if inferred else 0.0
    # The kernel's count of the receiver's window has its time in loss recovery, and none while a timer paces.
    parts = dict.fromkeys(_PARTS, 0.0)
    if inferred and inferred["congestion_window"]:
        of_inferred = shares["congestion_window"] / inferred["congestion_window"]
        for name in _OF_WINDOW:
            parts[name] = round(of_inferred * inferred[name], 6)
    if inferred:
        for name in _OF_APPLICATION:
            parts[name] = min(inferred[name], shares["application"])
    others = {
        "handshake": opening,
        "seconds": seconds,
        "seconds_before_data": before_s,
        "writes_bps": writes_bps,
        "method": "kernel",
    }
    return shares | parts | others


def _app_limited(flags: Any, busy_ns: Any) -> float:
    """Share of the busy time between samples at whose end the kernel reports it; 0 where the log has none.

    The first sample is no evidence: Linux begins every connection with the flag set.
    """
    spent_ns = np.maximum(np.diff(busy_ns), 0)
    flags = flags[1:]
    whole_ns = int(spent_ns[flags >= 0].sum())
    return int(spent_ns[flags == 1].sum()) / whole_ns if whole_ns else 0.0


def nothing_outstanding_ns(
    m: Timeline, connection: Connection, source: int, begin_ns: int, end_ns: int
) -> int:
    """Time between two times in which all data that was sent had been acknowledged, by a capture.

    0 where the capture is only summed up.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture among the sources.
    begin_ns, end_ns : int
        On the reference timeline.

    Returns
    -------
    int
        Nanoseconds.
    """
    if m.summarised or begin_ns >= end_ns:
        return 0
    from multitracer.layers.tcp.transit import data_at, valid_acks

    data = data_at(m, connection, source)
    data = data.where(data["length"] > 0)
    acks = valid_acks(m, connection, source)
    if not len(data) or not len(acks):
        return 0
    sent = np.maximum.accumulate(data["seq"] + data["length"])
    acked = np.maximum.accumulate(acks["ack"])
    at = np.searchsorted(acked, sent)
    done_ns = np.append(acks["t_ns"], end_ns)[at]
    # After the last data, too: the FIN may come much later.
    quiet_ns = np.minimum(np.append(data["t_ns"][1:], end_ns), end_ns) - np.maximum(done_ns, begin_ns)
    return int(quiet_ns[quiet_ns > 0].sum())
