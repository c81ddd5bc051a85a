"""The time/sequence graph in tcptrace's vocabulary: data bars, ACK line, window line, R, 3, S, Z.

References
----------
tcptrace manual, "Time Sequence Graph"; Shepard, TCP Packet Trace Analysis, MIT/LCS/TR-494, 1991.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import tcp_layer
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select

DATA, ANSWERS = "data", "ACKs"
DUPACKS = 3  # RFC 5681: the third duplicate ACK calls for a fast retransmit
DETAILED = 20_000  # more marks than this have no readable words


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """One direction of one connection, as its sender's capture saw it."""
    selection = select(measurement, options)
    source = selection.snd if selection.snd is not None else selection.rcv
    data = tcp_layer.good(selection.segments(source, data=True))
    acks = tcp_layer.good(selection.segments(source, data=False))
    acks = acks.where(acks["ack"] >= 0)
    if not len(data):
        raise base.nothing(PLOT.name, "the connection carries no data")
    lines = [*_lines(selection, acks, source)]
    sent = Series(
        "TcpSnd_data",
        "snd_data",
        selection.seconds(data["t_ns"]),
        data["seq"].astype(np.float64),
        kind="points",
    )
    window = base.window_of([sent], [sent], options)
    panel = Panel(
        "sequence",
        Axis("Sequence number", "bytes"),
        tuple(lines),
        (*_again(selection, data), *_arrived(selection, source), *_answers(selection, acks)),
        pieces=tuple(_bars(selection, data)),
    )
    notes = [] if selection.snd is not None else ["no capture at the sender: as seen at the receiver"]
    return base.figure(PLOT.name, selection, results, (panel,), window, options, notes=notes)


def _lines(selection: Selection, acks: Table, source: int | None) -> Iterator[Series]:
    """What was acknowledged, and up to where the advertised window allows to send."""
    if not len(acks):
        return
    x = selection.seconds(acks["t_ns"])
    acked = np.maximum.accumulate(acks["ack"])
    yield Series(
        "TcpSnd_ack",
        "snd_ack",
        x,
        acked.astype(np.float64),
        kind="steps",
        label="ACK",
        group=ANSWERS,
        record=acks["record"],
        source=-1 if source is None else source,
    )
    known = acks["window"] >= 0
    if known.any():
        edge = np.maximum.accumulate((acks["ack"] + acks["window"])[known]).astype(np.float64)
        yield Series(
            "TcpSnd_edge",
            "rwnd",
            x[known],
            edge,
            kind="steps",
            label="ACK + advertised window",
            group=ANSWERS,
        )


def _bars(selection: Selection, data: Table) -> Iterator[Pieces]:
    """A bar from the first to the last byte of every segment, by why it was sent."""
    causes = data.words("cause")
    repeat = data["duplicate"] > 0
    looks = [("data", ~repeat, "snd_data", "sent")]
    looks += [
        (cause, repeat & (causes == cause), look.role, look.label)
        for cause, look in tcp_layer.RETRANSMISSION_LOOKS.items()
    ]
    for name, wanted, role, label in looks:
        rows = data.where(wanted)
        if len(rows):
            x = selection.seconds(rows["t_ns"])
            low = rows["seq"].astype(np.float64)
            yield Pieces(name, role, x, low, x, low + rows["length"], label=label, group=DATA)  # type: ignore[arg-type]


def _again(selection: Selection, data: Table) -> Iterator[Marks]:
    """R over every retransmission."""
    rows = data.where(data["duplicate"] > 0)
    if not len(rows):
        return
    yield Marks(
        "R",
        "timeout",
        selection.seconds(rows["t_ns"]),
        (rows["seq"] + rows["length"]).astype(np.float64),
        letter="R",
        label="R: retransmission",
        group=DATA,
        details=_details(rows, "retransmitted: {}", rows.words("cause")),
    )


def _arrived(selection: Selection, source: int | None) -> Iterator[Marks]:
    """R: the first copy never passed. O: reordered. D: the same packet twice (docs/arrivals.md)."""
    if source is None or selection.connection is None:
        return
    table = selection.measurement.table("arrivals")
    keep = (table["conn"] == selection.connection.index) & (table["dir"] == selection.data_dir)
    table = table.where(keep & (table["source"] == source))
    verdicts = table.words("verdict")
    for letter, verdict, wanted, words in (
        (
            "R",
            "retransmission",
            table["fresh"] == 1,
            "R: retransmission whose first copy is not in this capture",
        ),
        ("O", "reordered", np.ones(len(table), dtype=bool), "O: out of order"),
        ("D", "network_duplicate", np.ones(len(table), dtype=bool), "D: the same packet twice"),
    ):
        rows = table.where((verdicts == verdict) & wanted)
        if len(rows):
            yield Marks(
                f"arrival:{verdict}",
                "other_retransmission",
                selection.seconds(rows["t_ns"]),
                (rows["seq"] + rows["length"]).astype(np.float64),
                letter=letter,
                label=words,
                group=DATA,
                details=_details(rows, words + ", by {}", rows.words("evidence")),
            )


def _answers(selection: Selection, acks: Table) -> Iterator[Marks]:
    """3: third duplicate ACK. S: highest byte selectively acknowledged. Z: zero window."""
    kinds = acks.words("ack_kind")
    duplicate = kinds == "duplicate"
    # How many duplicates in a row since the last advance.
    count = np.cumsum(duplicate)
    advance = np.maximum.accumulate(np.where(kinds == "advance", count, 0)) if len(acks) else count
    third = duplicate & (count - advance == DUPACKS)
    if third.any():
        rows = acks.where(third)
        yield _mark(selection, rows, rows["ack"], "3", "fast_retransmit", "3: third duplicate ACK")
    sacked = (acks["sack_count"] > 0) & (acks["sack_high"] >= 0)
    if sacked.any():
        rows = acks.where(sacked)
        yield _mark(selection, rows, rows["sack_high"], "S", "sack", "S: acknowledged by SACK to here")
    closed = acks["window"] == 0
    if closed.any():
        rows = acks.where(closed)
        yield _mark(selection, rows, rows["ack"], "Z", "zero_window", "Z: zero window")


def _mark(selection: Selection, rows: Table, y: Array, letter: str, role: str, label: str) -> Marks:
    return Marks(
        letter,
        role,  # type: ignore[arg-type]
        selection.seconds(rows["t_ns"]),
        y.astype(np.float64),
        letter=letter,
        label=label,
        group=ANSWERS,
    )


def _details(rows: Table, words: str, values: Array) -> tuple[str, ...]:
    return tuple(words.format(value) for value in values.tolist()) if len(rows) <= DETAILED else ()


PLOT = Plot(
    "tsg",
    "Time/sequence graph as tcptrace draws it: data bars, ACK and window lines, letters",
    build,
)
