"""Series and marks of the TCP layer: TcpSnd_*, TcpRcv_*, and retransmissions by cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from multitracer.model.table import Array, Table
from multitracer.plots.panel import Marks, Role, Series
from multitracer.plots.series.selection import BAD_CHECKSUM, Selection


class Look(NamedTuple):
    """How one cause of retransmission is marked; R (any of them) and 3 (third duplicate ACK) are `tsg`'s."""

    role: Role
    letter: str
    label: str


RETRANSMISSION_LOOKS: dict[str, Look] = {
    "timeout": Look("timeout", "T", "RTO retransmission"),
    "fast": Look("fast_retransmit", "F", "fast retransmit"),
    "slow_start": Look("slow_start_retransmission", "r", "slow-start retransmission"),
    "tail_loss_probe": Look("tail_loss_probe", "P", "tail loss probe"),
    "unneeded_probe": Look("other_retransmission", "K", "keep-alive or window probe"),
    "unknown": Look("other_retransmission", "?", "retransmission, unclassified"),
}


def data_series(selection: Selection, end: str, shift: int, group: str) -> Iterator[Series]:
    """``Tcp<end>_data`` and ``Tcp<end>_ack`` of one end ("Snd", "Rcv"), moved up by `shift` bytes.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    end : str
        "Snd" or "Rcv": the sender's capture or the receiver's.
    shift : int
        Bytes.
    group : str
        Of the legend.

    Yields
    ------
    Series
        Seconds and bytes; none for an end without a capture.
    """
    source = selection.snd if end == "Snd" else selection.rcv
    if source is None:
        return
    data = good(selection.segments(source, data=True))
    role: Role = "snd_data" if end == "Snd" else "rcv_data"
    if len(data):
        yield _series(selection, data, f"Tcp{end}_data", role, data["seq"] + shift, group, "segments")
    acks = good(selection.segments(source, data=False))
    acks = acks.where(acks["ack"] >= 0)
    role = "snd_ack" if end == "Snd" else "rcv_ack"
    if len(acks):
        yield _series(selection, acks, f"Tcp{end}_ack", role, acks["ack"] + shift, group, "ACKs")


def _series(
    selection: Selection, rows: Table, name: str, role: Role, y: Array, group: str, words: str
) -> Series:
    return Series(
        name,
        role,
        selection.seconds(rows["t_ns"]),
        y.astype(np.float64),
        kind="steps" if role.endswith("ack") else "points",
        label=f"{name} ({words})",
        group=group,
        record=rows["record"],
        source=int(rows["source"][0]),
    )


def retransmission_marks(
    selection: Selection, shift: int, group: str, *, without: Array | None = None
) -> Iterator[Marks]:
    """Every retransmitted segment, at the sender, by cause.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    shift : int
        Bytes by which the marks are moved up.
    group : str
        Of the legend.
    without : array of int, optional
        Record numbers that are marked elsewhere (judged timeouts).

    Yields
    ------
    Marks
        One for each cause that occurs, then those of segments whose first copy the capture does not have.
    """
    sent = selection.segments(selection.snd, data=True)
    sent = sent.where((sent["cause"] > 0) & (sent["duplicate"] > 0))
    if without is not None:
        sent = sent.where(~np.isin(sent["record"], without))
    causes = sent.words("cause")
    for cause, look in RETRANSMISSION_LOOKS.items():
        rows = sent.where(causes == cause)
        if not len(rows):
            continue
        yield Marks(
            f"retransmission:{cause}",
            look.role,
            selection.seconds(rows["t_ns"]),
            (rows["seq"] + shift).astype(np.float64),
            letter=look.letter,
            label=look.label,
            group=group,
            details=tuple(
                f"{look.label}: bytes {seq:,}-{seq + length:,}, transmission {transmission}"
                for seq, length, transmission in zip(
                    rows["seq"].tolist(), rows["length"].tolist(), rows["transmission"].tolist(), strict=True
                )
            ),
        )
    yield from _inferred_marks(selection, shift, group)


def _inferred_marks(selection: Selection, shift: int, group: str) -> Iterator[Marks]:
    """Retransmissions of segments whose first copy this capture never had."""
    if selection.connection is None or selection.snd is None:
        return
    rows = selection.measurement.table("arrivals")
    wanted = (rows["conn"] == selection.connection.index) & (rows["dir"] == selection.data_dir)
    wanted &= (rows["source"] == selection.snd) & (rows["fresh"] > 0)
    rows = rows.where(wanted & (rows["verdict"] == rows.code("verdict", "retransmission"))).sorted_by("t_ns")
    causes = rows.words("cause")
    for cause, look in RETRANSMISSION_LOOKS.items():
        found = rows.where(causes == cause)
        if not len(found):
            continue
        label = f"{look.label}, inferred"
        yield Marks(
            f"inferred:{cause}",
            look.role,
            selection.seconds(found["t_ns"]),
            (found["seq"] + shift).astype(np.float64),
            letter=look.letter,
            label=label,
            group=group,
            details=tuple(
                f"{label}: bytes {seq:,}-{seq + length:,}"
                for seq, length in zip(found["seq"].tolist(), found["length"].tolist(), strict=True)
            ),
        )


def corrupted_marks(selection: Selection, shift: int, group: str) -> Iterator[Marks]:
    """Segments that reached the receiver with a wrong checksum: what a failed header decompressor makes.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    shift : int
        Bytes by which the marks are moved up.
    group : str
        Of the legend.

    Yields
    ------
    Marks
        None without such a segment.

    References
    ----------
    Paper 5.3, Figure 9; RFC 1144.
    """
    if selection.rcv is None:
        return
    data = selection.segments(selection.rcv, data=True)
    corrupted = data.where(data.words("checksum") == BAD_CHECKSUM)
    if len(corrupted):
        yield Marks(
            "TcpRcv_corrupted",
            "corrupted",
            selection.seconds(corrupted["t_ns"]),
            (corrupted["seq"] + shift).astype(np.float64),
            label="discarded: bad checksum",
            group=group,
            details=tuple(
                f"bad TCP checksum, sequence number as read {seq:,}" for seq in corrupted["seq"].tolist()
            ),
        )


def good(segments: Table) -> Table:
    """Segments without those whose checksum is wrong: their numbers mean nothing."""
    return segments.where(segments.words("checksum") != BAD_CHECKSUM)
