"""Series of the sender's windows: TcpSnd_cwnd, TcpSnd_ssthresh, TcpSnd_flight, TcpSnd_rwnd, all in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from multitracer.model.table import Array, Table
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Marks, Panel, Role, Series
from multitracer.plots.series.selection import Selection
from multitracer.plots.series.tcp_layer import good

# A curve beyond so many times the largest congestion window or flight would squeeze the others: it may leave.
ROOM = 2.5


GROUP = "TCP sender's windows"
MOST_SAMPLES = 500
"""In what is shown: more dots would make one line."""


def window_panel(selection: Selection, window: tuple[float, float] = (-np.inf, np.inf)) -> Panel | None:
    """Congestion window, threshold, flight and receiver window over time; None without any of them.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    window : (float, float)
        What is shown of it, in seconds from the first TCP event.
    """
    states = selection.states()
    kernel = [
        series
        for series in (
            _packets(selection, states, "cwnd", "TcpSnd_cwnd (congestion)"),
            _packets(selection, states, "ssthresh", "TcpSnd_ssthresh (threshold)"),
        )
        if series is not None
    ]
    samples = [*_samples(kernel[0], window)] if kernel and kernel[0].role == "cwnd" else []
    found = kernel + samples + _capture(selection)
    if not found:
        return None
    tops = [float(s.y.max()) for s in found if s.role in ("cwnd", "flight")]
    room = ROOM * max(tops) if tops else np.inf
    fitted = tuple(s if float(np.median(s.y)) <= room else _beyond(s) for s in found)
    marks = tuple(_zero_windows(fitted))
    return Panel("window", Axis("Window", "bytes"), fitted, marks, height=0.42, zero=True)


def _samples(cwnd: Series, window: tuple[float, float]) -> Iterator[Series]:
    """A dot for each value that the log has, while they are few: between two of them, nothing is known."""
    if int(cwnd.inside(window).sum()) <= MOST_SAMPLES:
        label = "sample of TcpSnd_cwnd"
        yield replace(cwnd, name="TcpSnd_cwnd samples", role="cwnd_sample", kind="points", label=label)


def _beyond(series: Series) -> Series:
    """A curve that may leave the panel: its label has its value."""
    label = f"{series.name}: mostly above (median {float(np.median(series.y)):,.0f})"
    return replace(series, label=label, in_limits=False)


def _zero_windows(series: tuple[Series, ...]) -> Iterator[Marks]:
    """Where the receiver closed its window: tcptrace's Z."""
    for one in series:
        closed = one.x[one.y == 0]
        if one.role == "rwnd" and len(closed):
            label = "zero window"
            yield Marks(
                "zero_window",
                "zero_window",
                closed,
                np.zeros(len(closed)),
                letter="Z",
                label=label,
                group=GROUP,
            )


def _packets(selection: Selection, states: Table, name: str, label: str) -> Series | None:
    """A kernel variable that counts packets, in bytes.

    tcp_probe fires before it processes the ACK, so a change shows at the sample after it. Drawing each value
    back to the sample before would show a timeout's collapse seconds before the timeout.
    """
    rows = states.where(states[name] >= 0)
    mss = segment_size(selection, states)
    if not len(rows) or mss is None:
        return None
    role: Role = "cwnd" if name == "cwnd" else "ssthresh"
    return Series(
        f"TcpSnd_{name}",
        role,
        selection.seconds(rows["t_ns"]),
        rows[name].astype(np.float64) * mss,
        kind="steps",
        label=label,
        group=GROUP,
        record=rows["record"],
    )


def _capture(selection: Selection) -> list[Series]:
    """Flight size and receiver window, from the sender's capture."""
    if selection.snd is None:
        return []
    data = selection.segments(selection.snd, data=True)
    acks = good(selection.segments(selection.snd, data=False))
    acks = acks.where(acks["ack"] >= 0)
    found = []
    t_ns, flight = flight_size(data, acks)
    if len(t_ns):
        x = selection.seconds(t_ns)
        label = "TcpSnd_flight (sent, not acked)"
        found.append(Series("TcpSnd_flight", "flight", x, flight, kind="steps", label=label, group=GROUP))
    windows = acks.where(acks["window"] >= 0)
    if len(windows):
        found.append(
            Series(
                "TcpSnd_rwnd",
                "rwnd",
                selection.seconds(windows["t_ns"]),
                windows["window"].astype(np.float64),
                kind="steps",
                label="TcpSnd_rwnd (advertised window)",
                group=GROUP,
                record=windows["record"],
                source=selection.snd,
            )
        )
    return found


def flight_size(data: Table, acks: Table) -> tuple[Array, Floats]:
    """Bytes sent and not cumulatively acknowledged, after each segment in either direction (RFC 5681 2)."""
    t_ns = np.concatenate((data["t_ns"], acks["t_ns"]))
    # In a simulation an ACK and the segment that it releases have one time: the file has their order.
    order = np.lexsort((np.concatenate((data["record"], acks["record"])), t_ns))
    nothing_d, nothing_a = np.zeros(len(data), np.int64), np.zeros(len(acks), np.int64)
    sent = np.concatenate((data["seq"] + data["length"], nothing_a))[order]
    acked = np.concatenate((nothing_d, acks["ack"]))[order]
    flight = np.maximum.accumulate(sent) - np.maximum.accumulate(acked) if len(order) else sent
    return t_ns[order], np.maximum(flight, 0).astype(np.float64)


def segment_size(selection: Selection, states: Table) -> int | None:
    """The sender's MSS: the kernel's word, else the largest common payload in the capture."""
    known = states["mss"][states["mss"] > 0]
    if len(known):
        return int(np.median(known))
    data = selection.segments(selection.snd if selection.snd is not None else selection.rcv, data=True)
    if not len(data):
        return None
    return int(np.bincount(data["length"]).argmax())
