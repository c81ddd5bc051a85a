"""A packet's way down and up: from the TCP sender through the frames of the link to the receiver, and back.

Which frames carried a packet is told by the receiver's side: a link that keeps the order hands a packet over
when its last frame, and all frames before it, have arrived. The first frame is the one behind the last of the
packet before; where two packets share a frame, it is drawn for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multitracer import airtime
from multitracer.linkpath import LinkPath, link_path
from multitracer.losses import arrival_ns
from multitracer.measurement import Measurement
from multitracer.plots import base, findings, tcp_layer
from multitracer.plots.findings import Results
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.selection import Selection, select
from multitracer.table import Array
from multitracer.transit import damaged, data_at

LANES = ("TCP sender", "link sender", "link receiver", "TCP receiver")
SHOWN_S = 4.0  # length of the figure's own window
LATE_NS = 5_000_000  # a packet is captured within this after its last frame, whatever the clocks say


class Ways(NamedTuple):
    """Data packets that arrived, and the frames that carried them.

    Attributes
    ----------
    sent_ns, arrived_ns : array
        At the captures.
    seq : array
    first, last : array
        Rows of `LinkPath.first`; last < first where no frame fits.
    """

    sent_ns: Array
    arrived_ns: Array
    seq: Array
    first: Array
    last: Array


def ways(selection: Selection, path: LinkPath) -> Ways | None:
    """The way of each data packet that both captures saw; None without both."""
    m, connection = selection.measurement, selection.connection
    if connection is None or m.snd is None or m.rcv is None:
        return None
    sent = data_at(m, connection, m.snd)
    heard = data_at(m, connection, m.rcv)
    arrived = arrival_ns(sent, heard.where(~damaged(heard)))
    keep = (arrived >= 0) & (sent["length"] > 0)
    sent, arrived = sent.where(keep), arrived[keep]
    order = np.argsort(arrived, kind="stable")
    sent, arrived = sent.where(order), arrived[order]
    # Delivered in order: when a frame and all before it had come; what a reset flushed holds nothing up.
    came = path.arrived_ns >= 0
    rows = np.flatnonzero(came)
    delivered = np.maximum.accumulate(path.arrived_ns[rows]) if len(rows) else np.zeros(0, dtype=np.int64)
    at = np.searchsorted(delivered, arrived + LATE_NS, side="right") - 1
    last = np.where(at >= 0, np.append(rows, -1)[at], -1)
    before = np.append(-1, np.maximum.accumulate(last)[:-1]) if len(last) else last
    # A frame that left before the packet was captured cannot carry its beginning.
    earliest = np.searchsorted(path.first["t_ns"], sent["t_ns"])
    full = np.append(path.first["length"], 0)[before] >= path.payload_bytes
    first = np.maximum(np.where((before >= 0) & full, before, before + 1), earliest)
    return Ways(sent["t_ns"], arrived, sent["seq"], first, last)


def build(measurement: Measurement, results: Results, options: PlotOptions) -> Figure:
    """Lines from layer to layer for every packet and frame of a few seconds."""
    selection = select(measurement, options)
    path = link_path(measurement)
    found = None if path is None else ways(selection, path)
    if path is None or found is None or not len(found.sent_ns):
        raise base.nothing(PLOT.name, "needs two captures and a link log with the frames of both entities")
    options = base.zoomed(options, *_begin(selection, path, found))
    ruler = Series(
        "sent", "snd_data", np.sort(selection.seconds(found.sent_ns)), np.zeros(len(found.sent_ns))
    )
    window = base.window_of([ruler], [ruler], options)
    pieces = [*_packets(selection, path, found), *_frames(selection, path), *_acks(selection)]
    resets = findings.resets(selection, results, selection.link("link_events"))
    panel = Panel(
        "layers",
        Axis("", ""),
        marks=tuple(findings.reset_marks(resets, "link")),
        lanes=LANES,
        pieces=tuple(one for one in pieces if len(one.x)),
    )
    data = [*tcp_layer.data_series(selection, "Snd", 0, "TCP sender")]
    data += tcp_layer.data_series(selection, "Rcv", 0, "TCP receiver")
    below = Panel("sequence", Axis("Sequence number", "bytes"), tuple(data), height=0.5)
    waits = (found.arrived_ns - found.sent_ns)[_within(selection, found.sent_ns, window)] / 1e9
    notes = []
    if len(waits):
        notes.append(
            f"{len(waits):,} packets, {waits.min():,.2f} to {waits.max():,.2f} s from sender to receiver"
        )
    return base.figure(PLOT.name, selection, results, (panel, below), window, options, notes=notes)


def _within(selection: Selection, t_ns: Array, window: tuple[float, float]) -> Array:
    t = selection.seconds(t_ns)
    return (t >= window[0]) & (t <= window[1])


def _begin(selection: Selection, path: LinkPath, found: Ways) -> tuple[float, float]:
    """Some seconds around the first packet whose frames were sent again; else the beginning."""
    again = path.sent.where(path.sent["attempt"] > 0)
    again = again.where(again["t_ns"] >= found.sent_ns.min())
    start = float(selection.seconds(found.sent_ns[:1])[0])
    if len(again):
        start = max(start, float(selection.seconds(again["t_ns"][:1])[0]) - 0.4 * SHOWN_S)
    return start - 0.02 * SHOWN_S, start + SHOWN_S


def _packets(selection: Selection, path: LinkPath, found: Ways) -> list[Pieces]:
    """From the sender's capture to the first frame, and from the last frame to the receiver's capture."""
    mapped = (found.first <= found.last) & (found.first >= 0)
    first, last = found.first[mapped], found.last[mapped]
    sent, arrived = selection.seconds(found.sent_ns[mapped]), selection.seconds(found.arrived_ns[mapped])
    begin = selection.seconds(path.first["t_ns"][first])
    end = selection.seconds(np.maximum.accumulate(path.arrived_ns)[last])
    details = tuple(
        f"byte {seq:,}: frames {low:,} to {high:,} of the link"
        for seq, low, high in zip(found.seq[mapped].tolist(), first.tolist(), last.tolist(), strict=True)
    )
    one = np.ones(len(sent))
    down = Pieces(
        "queue",
        "snd_data",
        sent,
        0 * one,
        begin,
        one,
        label="packet waits, enters link",
        details=details,
    )
    up = Pieces(
        "up", "rcv_data", end, 2 * one, arrived, 3 * one, label="packet is handed over", details=details
    )
    return [down, up]


def _frames(selection: Selection, path: LinkPath) -> list[Pieces]:
    """Every frame between the entities; those never received end half-way."""
    heard = _received(selection.measurement, path)
    t, lost = selection.seconds(path.sent["t_ns"]), heard < 0
    again = path.sent["attempt"] > 0
    end = selection.seconds(np.where(lost, path.sent["t_ns"], heard))
    delay = float(np.median((end - t)[~lost])) if (~lost).any() else 0.2
    looks = (
        ("frames", "packet_path", ~again & ~lost, "frame"),
        ("again", "packet_again", again & ~lost, "frame sent again"),
        ("lost", "packet_lost", lost, "frame lost on the air"),
    )
    pieces = []
    for name, role, wanted, words in looks:
        x = t[wanted]
        one = np.ones(len(x))
        stop, depth = (x + delay / 2, 1.5 * one) if name == "lost" else (end[wanted], 2 * one)
        pieces.append(Pieces(name, role, x, one, stop, depth, label=words))  # type: ignore[arg-type]
    return pieces


def _received(m: Measurement, path: LinkPath) -> Array:
    """For each transmission of a data frame: when the peer received it; -1 if it did not."""
    heard_ns, heard_key = airtime.lines(m, path.sender, "rcv", signals=False)
    sent_ns, sent_key = airtime.lines(m, path.sender, "snd", signals=False)
    return airtime.heard(sent_ns, sent_key, heard_ns, heard_key, path.slot_ns)


def _acks(selection: Selection) -> list[Pieces]:
    """ACKs from the receiver's capture to the sender's."""
    m, connection = selection.measurement, selection.connection
    if connection is None or m.snd is None or m.rcv is None:
        return []
    sent = data_at(m, connection, m.rcv, reverse=True)
    heard = data_at(m, connection, m.snd, reverse=True)
    arrived = arrival_ns(sent, heard)
    back = arrived >= 0
    one = np.ones(int(back.sum()))
    details = tuple(f"ACK of byte {ack:,}" for ack in sent["ack"][back].tolist())
    start, end = selection.seconds(sent["t_ns"][back]), selection.seconds(arrived[back])
    return [
        Pieces("acks", "snd_ack", start, 3 * one, end, 0 * one, label="ACK on its way back", details=details)
    ]


PLOT = Plot(
    "layers", "A packet's way down and up: segments and the frames that carried them, between layers", build
)
