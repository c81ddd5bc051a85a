"""After a link reset: segments that a failed header decompressor corrupted, at their true sequence numbers.

References
----------
Paper 5.3, Figure 9: "these segments should actually have been plotted with an offset of 5 x MSS". RFC 1144.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.model.errors import MultiTracerError
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline
from multitracer.native.whole_packet import decode
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks, tcp_layer
from multitracer.plots.series.corrupted import Corruption, corruption_between, true_marks
from multitracer.plots.series.result_marks import Results, number
from multitracer.plots.series.selection import Selection, select

SND, RCV = "TCP sender", "TCP receiver"
CHECKED = 64  # segments whose checksum is tried with the right number
SMALL = 200_000  # packets of a capture in which single packets are looked up


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Both ends around the reset gap with the most corrupted segments."""
    selection = select(measurement, options)
    answer = base.answered(PLOT.name, results, "link_resets")
    if selection.rcv is None:
        raise base.nothing(PLOT.name, "needs a capture at the data receiver")
    entry = _worst(answer.summary.get("resets") or (), options)
    if entry is None:
        raise base.nothing(PLOT.name, "no segment was corrupted by header decompression after a link reset")
    start, end = float(entry["gap_start"]), float(entry["gap_end"])
    found = corruption_between(selection, start, end)
    sent = selection.seconds(found.lost["t_ns"][:1])
    room = 0.2 * (end - start)
    options = base.zoomed(options, float(min([start, *sent])) - room, end + 1.5 * room)
    series = [
        *(s for s in tcp_layer.data_series(selection, "Snd", 0, SND) if s.name == "TcpSnd_data"),
        *tcp_layer.data_series(selection, "Rcv", 0, RCV),
    ]
    window = base.window_of(series, series, options)
    resets = result_marks.resets(selection, results, selection.link("link_events"))
    judged = result_marks.timeout_rows(selection, results)
    marks = [*result_marks.reset_marks(resets, "RLP")]
    if judged is not None:
        marks += result_marks.timeout_marks(selection, judged, 0, SND)
    marks += _marks(selection, found)
    panel = Panel(
        "sequence",
        Axis("Sequence number", "bytes"),
        tuple(series),
        tuple(marks),
        tuple(result_marks.gap_spans(resets, "")),
        pieces=tuple(_shifts(selection, found)),
    )
    return base.figure(
        PLOT.name, selection, results, (panel,), window, options, notes=_arithmetic(selection, found)
    )


def _worst(entries: Any, options: PlotOptions) -> Mapping[str, Any] | None:
    low, high = base.asked(options)
    best, most = None, 0.0
    for entry in entries:
        start, end = number(entry.get("gap_start")), number(entry.get("gap_end"))
        discarded = number(entry.get("segments_discarded")) or 0.0
        if start is not None and end is not None and start < high and end > low and discarded > most:
            best, most = entry, discarded
    return best


def _marks(selection: Selection, found: Corruption) -> list[Marks]:
    marks = []
    t = selection.seconds(found.segments["t_ns"])
    if len(found.lost):
        marks.append(
            Marks(
                "TcpSnd_lost",
                "packet_lost",
                selection.seconds(found.lost["t_ns"]),
                found.lost["seq"].astype(np.float64),
                label="lost in the reset",
                group=SND,
                details=tuple(f"never arrived: byte {seq:,}" for seq in found.lost["seq"].tolist()),
            )
        )
    marks.append(
        Marks(
            "TcpRcv_corrupted",
            "corrupted",
            t,
            found.segments["seq"].astype(np.float64),
            label="corrupted (sequence number as received)",
            group=RCV,
            details=tuple(
                f"bad checksum, sequence number in the header {seq:,}"
                for seq in found.segments["seq"].tolist()
            ),
        )
    )
    return [*marks, *true_marks(selection, [found], 0, RCV)]


def _shifts(selection: Selection, found: Corruption) -> list[Pieces]:
    if found.true is None or not len(found.segments):
        return []
    t, read = selection.seconds(found.segments["t_ns"]), found.segments["seq"].astype(np.float64)
    true = found.true.astype(np.float64)
    arrows = Pieces(
        "shift", "packet_lost", t, read, t, true, ends="arrow", label="off by the bytes lost", group=RCV
    )
    off = int(true[-1] - read[-1])
    at = float(t[-1] + 0.02 * (t[-1] - t[0]) + 0.05)
    words = f"{off:,} bytes"
    return [arrows, base.dimension("offset", (at, float(read[-1])), (at, float(true[-1])), words)]


def _arithmetic(selection: Selection, found: Corruption) -> list[str]:
    """The shift in words: what was in flight, what was lost, and the proof by checksum."""
    if found.true is None:
        return [
            f"{count(len(found.segments), 'segment was', 'segments were')} corrupted by header decompression;"
            " their true sequence numbers are unknown"
        ]
    off = found.true - found.segments["seq"]
    lost = int(found.lost["length"].sum())
    sizes = np.unique(found.lost["length"])
    product = (
        f"{len(found.lost)} \N{MULTIPLICATION SIGN} {int(sizes[0]):,}" if len(sizes) == 1 else "their lengths"
    )
    notes = [
        f"{count(len(found.lost) + len(found.segments), 'segment')} never reached TCP: "
        f"{len(found.lost)} lost in the reset "
        f"({product} = {lost:,} bytes), {len(found.segments)} corrupted"
    ]
    shown = f"{int(off[0]):,}" if len(np.unique(off)) == 1 else f"{int(off.min()):,} to {int(off.max()):,}"
    relation = "exactly the bytes lost" if np.all(off == lost) else "not the bytes lost alone"
    notes.append(
        f"the first has sequence number {int(found.segments['seq'][0]):,}, "
        f"its true one is {int(found.true[0]):,}: headers are off by {shown} bytes, {relation}"
    )
    right, tried = _checked(selection, found)
    if tried:
        notes.append(f"with the right sequence number the TCP checksum is right in {right} of {tried}")
    return notes


def _checked(selection: Selection, found: Corruption) -> tuple[int, int]:
    """How many corrupted segments have a right checksum once their sequence number is; how many were tried.

    Only where the capture kept whole packets and is small.
    """
    m, source = selection.measurement, selection.rcv
    if source is None or found.true is None or m.sources[source].records > SMALL:
        return 0, 0
    right = tried = 0
    rows = zip(
        found.segments["record"].tolist(),
        (found.true - found.segments["seq"]).tolist(),
        strict=True,
    )
    for record, off in [*rows][:CHECKED]:
        try:
            packet = decode(m.sources[source].path, record)
        except (MultiTracerError, OSError):
            return 0, 0
        while not hasattr(packet, "src") or not hasattr(getattr(packet, "data", None), "seq"):
            packet = getattr(packet, "data", None)
            if packet is None or isinstance(packet, bytes):
                return 0, 0
        segment = packet.data
        segment.seq = (segment.seq + off) % 2**32
        raw = bytes(segment)
        if len(raw) != int(getattr(packet, "len", 0)) - 4 * int(getattr(packet, "hl", 0)):
            continue  # cut by the snap length, or not IPv4
        tried += 1
        right += _sums_to_zero(
            bytes(packet.src) + bytes(packet.dst) + b"\0\x06" + len(raw).to_bytes(2, "big") + raw
        )
    return right, tried


def _sums_to_zero(data: bytes) -> bool:
    """The Internet checksum over a pseudo header and a segment (RFC 1071)."""
    words = np.frombuffer(data + b"\0" * (len(data) % 2), dtype=">u2")
    total = int(words.sum(dtype=np.int64))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total == 0xFFFF


PLOT = Plot(
    "corrupted-segments",
    "Segments corrupted by header decompression, at their true sequence numbers (Figure 9)",
    build,
)
