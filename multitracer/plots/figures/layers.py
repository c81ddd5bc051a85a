"""The path of a packet: from the TCP sender through the frames of the link to the receiver, and back.

`multitracer.layers.framemap` shows which frames carried a packet.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link import airtime
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.model.quantities import count
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks, tcp_layer
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select

LANES = ("TCP sender", "link sender", "link receiver", "TCP receiver")
SHOWN_S = 4.0  # length of the figure's own window


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Lines from layer to layer for every packet and frame of a few seconds."""
    selection = select(measurement, options)
    path = link_path(measurement)
    data, acks = _spans(selection)
    if path is None or not len(data):
        raise base.nothing(PLOT.name, "needs a capture at the sender and a link log that carries its packets")
    options = base.zoomed(options, *_begin(selection, path, data))
    t = selection.seconds(data["t_ns"])
    ruler = Series("sent", "snd_data", t, np.zeros(len(t)))
    window = base.window_of([ruler], [ruler], options)
    pieces = [
        *_packets(selection, data, ("snd_data", "rcv_data"), LANES),
        *_frames(selection, path),
        *_packets(selection, acks, ("snd_ack", "snd_ack"), LANES[::-1]),
    ]
    resets = result_marks.resets(selection, results, selection.link("link_events"))
    panel = Panel(
        "layers",
        Axis("", ""),
        marks=tuple(result_marks.reset_marks(resets, "link")),
        lanes=LANES,
        pieces=tuple(one for one in pieces if len(one.x)),
    )
    series = [*tcp_layer.data_series(selection, "Snd", 0, "TCP sender")]
    series += tcp_layer.data_series(selection, "Rcv", 0, "TCP receiver")
    below = Panel("sequence", Axis("Sequence number", "bytes"), tuple(series), height=0.5)
    return base.figure(
        PLOT.name, selection, results, (panel, below), window, options, notes=_notes(data, t, window)
    )


def _spans(selection: Selection) -> tuple[Table, Table]:
    """Where the packets of the connection lay in the link's stream: data, and the other direction."""
    spans = framemap.of(selection.measurement).spans.sorted_by("t_ns")
    conn = -1 if selection.connection is None else selection.connection.index
    mine = (spans["conn"] == conn) & (spans["sent_ns"] >= 0)
    forward = spans["dir"] == selection.data_dir
    return spans.where(mine & forward), spans.where(mine & ~forward)


def _begin(selection: Selection, path: LinkPath, data: Table) -> tuple[float, float]:
    """Some seconds around the first retransmitted frame while packets were in flight; else the beginning."""
    again = path.sent["t_ns"][(path.sent["attempt"] > 0) & (path.sent["t_ns"] >= data["t_ns"][0])]
    start = float(selection.seconds(data["t_ns"][:1])[0])
    if len(again):
        start = max(start, float(selection.seconds(again[:1])[0]) - 0.4 * SHOWN_S)
    return start - 0.02 * SHOWN_S, start + SHOWN_S


def _notes(data: Table, t: Array, window: tuple[float, float]) -> list[str]:
    rows = data.where((t >= window[0]) & (t <= window[1]) & (data["arrived_ns"] >= 0))
    if not len(rows):
        return []
    waits = (rows["arrived_ns"] - rows["t_ns"]) / 1e9
    sent = f"{count(len(rows), 'packet')} sent in this window"
    words = f"{sent}, delivered in {waits.min():,.2f} to {waits.max():,.2f} s"
    per = float(rows["frames"].mean())
    error = int(rows["error"].max())
    exact = "boundaries exact" if error == 0 else f"boundaries true to {error:,} bytes"
    return [f"{words}, {per:,.1f} frames each; {exact}"]


def _packets(
    selection: Selection, spans: Table, roles: tuple[Role, Role], lanes: tuple[str, ...]
) -> list[Pieces]:
    """From TCP to the first frame at one end of the link, and from the last frame to TCP at the other."""
    begin, enter, leave, end = (float(LANES.index(lane)) for lane in lanes)
    data = roles[0] == "snd_data"
    what = "packet" if data else "ACK"
    entered = spans.where(spans["sent_ns"] >= spans["t_ns"])
    left = spans.where((spans["complete_ns"] >= 0) & (spans["arrived_ns"] >= 0))
    down = _pieces(selection, entered, "t_ns", "sent_ns", (begin, enter))
    up = _pieces(selection, left, "complete_ns", "arrived_ns", (leave, end))
    if data:
        names, cross = ("down", "up"), []
    else:
        # Its frames are not drawn one by one: its path would be hidden among those of the data.
        names, over = ("ack_down", "ack_up"), left.where(left["sent_ns"] >= 0)
        line = _pieces(selection, over, "sent_ns", "complete_ns", (enter, leave))
        cross = [Pieces("ack_over", roles[0], *line, label="ACK on the link", details=_details(over, what))]
    down_words, up_words = f"{what} queued before the link", f"{what} delivered to TCP"
    return [
        Pieces(names[0], roles[0], *down, label=down_words, details=_details(entered, what)),
        *cross,
        Pieces(names[1], roles[1], *up, label=up_words, details=_details(left, what)),
    ]


def _pieces(
    selection: Selection, rows: Table, start: str, end: str, levels: tuple[float, float]
) -> tuple[Array, Array, Array, Array]:
    one = np.ones(len(rows))
    return (
        selection.seconds(rows[start]),
        levels[0] * one,
        selection.seconds(rows[end]),
        levels[1] * one,
    )


def _details(rows: Table, what: str) -> tuple[str, ...]:
    columns = (rows["record"], rows["seq"], rows["frames"], rows["attempts"], rows.words("fate"))
    return tuple(
        f"{what} {record:,}: byte {seq:,}, {frames:,} frames sent {attempts:,} times, {fate}"
        for record, seq, frames, attempts, fate in zip(*(one.tolist() for one in columns), strict=True)
    )


def _frames(selection: Selection, path: LinkPath) -> list[Pieces]:
    """Every frame between the entities; those never received end half-way."""
    received_ns = _received(selection.measurement, path)
    t, lost = selection.seconds(path.sent["t_ns"]), received_ns < 0
    again = path.sent["attempt"] > 0
    end = selection.seconds(np.where(lost, path.sent["t_ns"], received_ns))
    delay = float(np.median((end - t)[~lost])) if (~lost).any() else 0.2
    looks = (
        ("frames", "packet_path", ~again & ~lost, "frame"),
        ("again", "packet_again", again & ~lost, "frame retransmitted"),
        ("lost", "packet_lost", lost, "frame lost on the air"),
    )
    pieces = []
    for name, role, wanted, words in looks:
        x = t[wanted]
        one = np.ones(len(x))
        stop, depth = (x + delay / 2, 1.5 * one) if name == "lost" else (end[wanted], 2 * one)
        pieces.append(Pieces(name, role, x, one, stop, depth, label=words))  # type: ignore[arg-type]
    return pieces


def _received(m: Timeline, path: LinkPath) -> Array:
    """For each transmission of a data frame: when the peer received it; -1 if it did not."""
    received_ns, received_key = airtime.lines(m, path.sender, "rcv", signals=False)
    sent_ns, sent_key = airtime.lines(m, path.sender, "snd", signals=False)
    return airtime.received_ns(sent_ns, sent_key, received_ns, received_key, path.slot_ns)


PLOT = Plot("layers", "Path of a packet between the layers: segments and the frames that carried them", build)
