"""The layers of a recorded host: calls of the application, packets through queue and driver, drops.

References
----------
Paper 4.5: one plot with the layers above each other.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.host.packets import dropped
from multitracer.model.quantities import count
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select
from multitracer.plots.series.transfer_panel import transfer_panel

LANES = ("application", "TCP", "queue", "driver")
_STEP_S = 0.02


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Every call and packet between its layers, the transfer above, the wait in the queue below."""
    found = results.get("host")
    if found is None or found.inconclusive is not None or not len(found.tables["host_packets"]):
        raise base.nothing(PLOT.name, "needs the kernel's tracepoints of a host (multitracer record)")
    selection = select(measurement, options)
    packets, calls = (
        _mine(selection, found.tables["host_packets"], unknown=True),
        _mine(selection, found.tables["host_calls"]),
    )
    tcp = transfer_panel(selection, results)
    t = selection.seconds(packets["t_ns"])
    ruling = [Series("packets", "snd_data", t, np.zeros(len(t)))] if tcp is None else [*tcp.series]
    window = base.window_of(ruling, ruling, options)
    pieces = [*_calls(selection, calls), *_packets(selection, packets)]
    lanes = Panel("host", Axis("", ""), lanes=LANES, pieces=tuple(one for one in pieces if len(one.x)))
    panels = [tcp, lanes, _wait(selection, packets)]
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=_notes(packets))


def _mine(selection: Selection, table: Table, unknown: bool = False) -> Table:
    """Rows of the connection, perhaps with those whose connection is not known (dropped packets)."""
    conn = -1 if selection.connection is None else selection.connection.index
    wanted = table["conn"] == conn
    if unknown:
        wanted |= table["conn"] < 0
    return table.where(wanted).sorted_by("t_ns")


def _line(
    selection: Selection, rows: Table, begin: Array, end: Array, levels: tuple[str, str]
) -> tuple[Array, Array, Array, Array]:
    one = np.ones(len(rows))
    high, low = (LANES.index(lane) for lane in levels)
    return selection.seconds(begin), high * one, selection.seconds(end), low * one


def _calls(selection: Selection, calls: Table) -> list[Pieces]:
    """Writes from their beginning to their end, down into TCP; reads at their end, up out of it."""
    pieces = []
    for kind, role, levels in (
        ("write", "snd_data", ("application", "TCP")),
        ("read", "rcv_data", ("TCP", "application")),
    ):
        rows = calls.where((calls["kind"] == calls.code("kind", kind)) & (calls["length"] > 0))
        begin = np.where(rows["began_ns"] >= 0, rows["began_ns"], rows["t_ns"])
        words = tuple(
            f"{kind} of {length:,} bytes, line {record:,}"
            for length, record in zip(rows["length"].tolist(), rows["record"].tolist(), strict=True)
        )
        line = _line(selection, rows, begin, rows["t_ns"], levels)
        pieces.append(Pieces(kind, _role(role), *line, label=f"{kind} of the application", details=words))
    return pieces


def _role(name: str) -> Role:
    roles: dict[str, Role] = {"snd_data": "snd_data", "rcv_data": "rcv_data"}
    return roles[name]


def _packets(selection: Selection, packets: Table) -> list[Pieces]:
    """Packets from TCP into the queue, through it to the driver; dropped ones end half-way."""
    queued = packets.where((packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= packets["enqueue_ns"]))
    straight = packets.where(
        (packets["enqueue_ns"] < 0) & (packets["queue_ns"] >= 0) & (packets["start_ns"] >= 0)
    )
    lost = packets.where(dropped(packets) & (packets["way"] == packets.code("way", "out")))
    refused = packets.where(dropped(packets) & (packets["way"] == packets.code("way", "in")))
    came = packets.where((packets["receive_ns"] >= 0) & ~dropped(packets))
    enter = np.where(queued["queue_ns"] >= 0, queued["queue_ns"], queued["enqueue_ns"])
    since = np.where(lost["queue_ns"] >= 0, lost["queue_ns"], lost["drop_ns"])
    x, y, x_end, y_end = _line(selection, lost, since, lost["drop_ns"], ("TCP", "queue"))
    up = _line(selection, refused, refused["receive_ns"], refused["drop_ns"], ("driver", "TCP"))
    # Later ones are drawn over earlier ones: no drop is hidden.
    return [
        Pieces(
            "came",
            "rcv_data",
            *_line(selection, came, came["receive_ns"], came["receive_ns"], ("driver", "TCP")),
            label="packet received",
            details=_details(came),
        ),
        Pieces(
            "enter",
            "packet_path",
            *_line(selection, queued, enter, queued["enqueue_ns"], ("TCP", "queue")),
            label="packet into the queue",
        ),
        Pieces(
            "wait",
            "packet_path",
            *_line(selection, queued, queued["enqueue_ns"], queued["dequeue_ns"], ("queue", "driver")),
            label="packet through the queue",
            details=_details(queued),
        ),
        Pieces(
            "straight",
            "snd_data",
            *_line(selection, straight, straight["queue_ns"], straight["start_ns"], ("TCP", "driver")),
            label="packet straight to the driver",
            details=_details(straight),
        ),
        Pieces(
            "drop",
            "packet_lost",
            *(x, y, x_end, y_end - 0.5),
            label="packet dropped by this host",
            details=_details(lost),
        ),
        Pieces(
            "refused",
            "packet_lost",
            *(*up[:3], up[3] + 0.5),
            label="received packet dropped by this host",
            details=_details(refused),
        ),
    ]


def _details(rows: Table) -> tuple[str, ...]:
    columns = (rows["length"], rows["seq"], rows["record"])
    return tuple(
        (f"{length:,} bytes" if length >= 0 else "piece of a packet")
        + (f" from byte {seq:,}" if seq >= 0 else "")
        + f", line {record:,}"
        for length, seq, record in zip(*(one.tolist() for one in columns), strict=True)
    )


def _wait(selection: Selection, packets: Table) -> Panel | None:
    """Time of each packet in the queueing discipline."""
    rows = packets.where((packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= packets["enqueue_ns"]))
    if not len(rows):
        return None
    wait = (rows["dequeue_ns"] - rows["enqueue_ns"]) / 1e9
    unit, size = base.time_unit(wait)
    line = Series(
        "HostQueue_delay",
        "delay",
        selection.seconds(rows["dequeue_ns"]),
        wait * size,
        label="time in the queue",
    )
    return Panel("wait", Axis("In the queue", unit), (line,), height=0.6, zero=True)


def _notes(packets: Table) -> list[str]:
    notes = []
    for direction, words in (("out", "that it sent"), ("in", "that it had received")):
        lost = int(np.count_nonzero(dropped(packets) & (packets["way"] == packets.code("way", direction))))
        if lost:
            notes.append(f"{count(lost, 'packet')} dropped by this host {words}")
    return notes


PLOT = Plot("host", "The layers of a recorded host: calls, packets through queue and driver, drops", build)
