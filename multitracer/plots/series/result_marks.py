"""What the analyses found, as marks and spans. Every result is optional; times are seconds.

Where a result is missing, resets and XOFF intervals are read off the link log itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from multitracer.model.analysis import Result, summary_of
from multitracer.model.idle import LAST_ACK_NAME, awaits_last_ack
from multitracer.model.quantities import voter
from multitracer.model.table import Array, Table
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Marks, Role, Spans, duration_words
from multitracer.plots.series.link_layer import xoff_intervals
from multitracer.plots.series.selection import Selection

Results = Mapping[str, Result]

IDLE_LOOKS: dict[str, tuple[Role, str]] = {
    "handshake": ("idle_handshake", "handshake"),
    "slow_start": ("idle_handshake", "slow start"),
    "handshake/slow_start": ("idle_handshake", "handshake, slow start"),
    "timeout_wait": ("idle_timeout_wait", "timeout wait"),
    "receiver_window": ("idle_receiver_window", "receiver window"),
    "application": ("idle_application", "application"),
    "local_drop": ("idle_local_drop", "local drop"),
    "recovery_stall": ("idle_recovery_stall", "recovery stall"),
    "power_save": ("idle_power_save", "power save"),
    "probe_rtt": ("idle_handshake", "ProbeRTT of BBR"),
    "pacing": ("idle_pacing", "pacing"),
    "stalled_path": ("idle_unknown", "stalled path"),
    "unknown": ("idle_unknown", "unknown"),
}

VERDICT_LOOKS: dict[str, tuple[Role, str]] = {
    "genuine": ("timeout_genuine", "timeout, genuine"),
    "spurious": ("timeout_spurious", "timeout, spurious"),
    "inconclusive": ("timeout_inconclusive", "timeout, verdict open"),
}


class Reset(NamedTuple):
    """A link reset: when it began and was over, by whom, why, and the gap after it (None if unknown)."""

    t: float
    words: str
    end: float | None = None
    gap: tuple[float, float] | None = None


def table(results: Results, name: str) -> Table | None:
    """The main table of a result; None if there is none or it is empty."""
    found = results.get(name)
    rows = found.tables.get(name) if found is not None else None
    return rows if rows is not None and len(rows) else None


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return None
    return float(value) if np.isfinite(value) else None


def entry_of(selection: Selection, results: Results) -> Mapping[str, Any] | None:
    """What the answer on connections has of the one that is drawn; None without it."""
    if selection.connection is None:
        return None
    index, found = selection.connection.index, summary_of(results, "connections").get("connections", ())
    return next((one for one in found if one["index"] == index), None)


def min_rtt_s(selection: Selection, results: Results) -> float | None:
    """The min RTT of the path as the text has it; None where no capture next to the sender shows it."""
    entry = entry_of(selection, results)
    if entry is None or selection.snd is None or selection.measurement.snd != selection.snd:
        return None
    least_ms = number((entry.get("rtt") or {}).get("base_ms"))
    return None if least_ms is None else least_ms / 1e3


def timeout_rows(selection: Selection, results: Results) -> Table | None:
    """Judged timeouts of the connection's sender."""
    rows = table(results, "timeouts")
    if rows is None or selection.connection is None:
        return None
    rows = rows.where((rows["conn"] == selection.connection.index) & (rows["dir"] == selection.data_dir))
    return rows if len(rows) else None


def timeout_marks(selection: Selection, rows: Table, shift: int, group: str) -> Iterator[Marks]:
    """Timeouts by verdict, at the retransmitted segment (Paper 5.4).

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    rows : Table
        Of the result `timeouts`, or of the table of that name.
    shift : int
        Bytes by which the marks are moved up.
    group : str
        Of the legend.

    Yields
    ------
    Marks
        One for each verdict that occurs.
    """
    verdicts = rows.words("verdict")
    for verdict, (role, words) in VERDICT_LOOKS.items():
        some = rows.where(verdicts == verdict)
        if not len(some):
            continue
        backoffs = np.maximum(some["backoff"], 0).tolist()
        silences = (some["silence_ns"] / 1e9).tolist()
        yield Marks(
            f"timeout:{verdict}",
            role,
            selection.seconds(some["t_ns"]),
            (some["seq"] + shift).astype(np.float64),
            letter="T",
            label=words,
            group=group,
            texts=tuple(f"{2 ** min(b, 20)} \N{MULTIPLICATION SIGN} RTO" if b else "" for b in backoffs),
            details=tuple(
                f"{words}; idle for {silence:.3f} s before the RTO, backoff x{2 ** min(b, 20)}; "
                f"{votes(some, row)}"
                for row, (b, silence) in enumerate(zip(backoffs, silences, strict=True))
            ),
        )


def votes(rows: Table, row: int) -> str:
    """How each independent vote on a timeout went."""
    names = ("eifel", "dsack", "frto", "too_early", "receiver", "ack_path", "link", "kernel")
    cast = [f"{voter(name)}: {vote}" for name in names if (vote := rows.words(name)[row]) != "abstains"]
    return ", ".join(cast) if cast else "no vote"


def resets(selection: Selection, results: Results, events: Table) -> list[Reset]:
    """Link resets, from their result or else from the log (each once, by the entity that asked for it).

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    results : Results
        By name of the analyzer.
    events : Table
        Of the link log.

    Returns
    -------
    list of Reset
        In order of time.
    """
    found = []
    if "link_resets" in results and results["link_resets"].inconclusive is None:
        for entry in summary_of(results, "link_resets").get("resets") or ():
            t = number(entry.get("t"))
            if t is not None:
                start, end = number(entry.get("gap_start")), number(entry.get("gap_end"))
                gap = (start, end) if start is not None and end is not None and end > start else None
                words = _reset_words(entry.get("entity"), entry.get("cause"))
                found.append(Reset(t, words, number(entry.get("end")), gap))
        return found
    causes = events.words("cause")
    rows = np.flatnonzero((events.words("kind") == "reset") & (causes != "peer"))
    for row, t in zip(rows.tolist(), selection.seconds(events["t_ns"][rows]).tolist(), strict=True):
        entity = selection.measurement.entities[int(events["entity"][row])]
        found.append(Reset(t, _reset_words(entity, causes[row])))
    return found


def _reset_words(entity: object, cause: object) -> str:
    words = [str(entity)] if entity not in (None, "") else []
    if cause not in (None, ""):
        words.append("N2" if cause == "n2" else str(cause))
    return f"reset ({', '.join(words)})" if words else "reset"


def reset_marks(found: list[Reset], group: str, prefix: str = "Rlp") -> Iterator[Marks]:
    """``RlpSnd_rst``: a vertical line per link reset (Paper 4.5).

    Parameters
    ----------
    found : list of Reset
    group : str
        Of the legend.
    prefix : str
        Of the label: what the link layer is called.

    Yields
    ------
    Marks
        None without a reset.
    """
    if found:
        words = tuple(reset.words for reset in found)
        x = np.array([reset.t for reset in found])
        label = f"{prefix}Snd_rst: link resets"
        yield Marks("RlpSnd_rst", "link_reset", x, label=label, group=group, texts=words, details=words)


def handshake_spans(found: list[Reset], lane: str) -> Iterator[Spans]:
    """From the reset until both entities had made it: the link carried nothing, and not by TCP's fault."""
    spans = [(reset.t, reset.end) for reset in found if reset.end is not None and reset.end > reset.t]
    if spans:
        start, end = np.array(spans).T
        yield _spans("reset_handshake", "reset_handshake", start, end, lane, "reset handshake")


def gap_spans(found: list[Reset], lane: str) -> Iterator[Spans]:
    """The time after each reset in which nothing arrived in order (Paper 5.3, Figure 8)."""
    gaps = sorted(reset.gap for reset in found if reset.gap is not None)
    if gaps:
        # Two resets can share one gap: it is shown once.
        start, end = np.array(gaps).T
        reached = np.maximum.accumulate(end)
        first = np.r_[True, start[1:] > reached[:-1]]
        start, end = start[first], reached[np.r_[np.flatnonzero(first)[1:] - 1, len(gaps) - 1]]
        yield _spans("reset_gap", "reset_gap", start, end, lane, "gap after reset")


def xoff(selection: Selection, results: Results, events: Table, entity: int | None) -> tuple[Floats, Floats]:
    """XOFF intervals of the data-sending entity: starts and ends.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    results : Results
        By name of the analyzer.
    events : Table
        Of the link log, for measurements without a result.
    entity : int or None
        The one that sends the data; None where it is not known.

    Returns
    -------
    starts, ends : float array
        Seconds from the first TCP event.
    """
    given = summary_of(results, "flow_control").get("intervals")
    pairs = []
    for entry in given or ():
        start, end = number(entry.get("start")), number(entry.get("end"))
        if start is not None and end is not None and end >= start:
            pairs.append((start, end))
    if pairs:
        start_end = np.array(sorted(pairs))
        return start_end[:, 0], start_end[:, 1]
    if given is None and entity is not None and len(events):
        return xoff_intervals(selection, events, entity)
    return np.empty(0), np.empty(0)


def xoff_spans(starts: Floats, ends: Floats, lane: str, prefix: str = "Rlp") -> Iterator[Spans]:
    """``RlpSnd_xoff``: when the peer held the link's sender off (Paper 5.5, Figure 12).

    Parameters
    ----------
    starts, ends : float array
        Seconds from the first TCP event.
    lane : str
        The row in which they are drawn.
    prefix : str
        Of the label: what the link layer is called.

    Yields
    ------
    Spans
        None without an interval.
    """
    if len(starts):
        yield _spans("RlpSnd_xoff", "flow_control", starts, ends, lane, f"{prefix}Snd_xoff")


def idle_spans(results: Results, lane: str) -> Iterator[Spans]:
    """Idle phases of the link, one set of spans per cause."""
    by_look: dict[tuple[Role, str], list[tuple[float, float]]] = {}
    for phase in summary_of(results, "idle_phases").get("phases") or ():
        start, end = number(phase.get("start")), number(phase.get("end"))
        if start is None or end is None or end <= start:
            continue
        cause = str(phase.get("cause") or "unknown")
        look = IDLE_LOOKS.get(cause, ("idle_unknown", cause))
        if awaits_last_ack(phase):
            look = "idle_last_ack", LAST_ACK_NAME
        by_look.setdefault(look, []).append((start, end))
    for (role, words), pairs in by_look.items():
        start_end = np.array(sorted(pairs))
        yield _spans(f"idle:{words}", role, start_end[:, 0], start_end[:, 1], lane, f"idle: {words}")


def _spans(name: str, role: Role, starts: Array, ends: Array, lane: str, words: str) -> Spans:
    lengths = ends - starts
    texts = tuple(duration_words(float(length)) for length in lengths)
    details = tuple(f"{words}: {length:.3f} s" for length in lengths)
    return Spans(name, role, starts, ends, lane, words, texts=texts, details=details)


def local_drop_marks(
    selection: Selection, results: Results, events: Table, shift: int, group: str
) -> Iterator[Marks]:
    """Segments that the interface queue dropped: TCP sent them, the link never did (Paper 5.2, Figure 7).

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    results : Results
        By name of the analyzer.
    events : Table
        Of the link log, for measurements without a result.
    shift : int
        Bytes by which the marks are moved up.
    group : str
        Of the legend.

    Yields
    ------
    Marks
        None without a drop.
    """
    sent = selection.segments(selection.snd, data=True)
    known = table(results, "local_drops")
    if known is not None and selection.connection is not None:
        mine = (known["conn"] == selection.connection.index) & (known["dir"] == selection.data_dir)
        dropped = sent.where(np.isin(sent["record"], known["record"][mine & (known["record"] > 0)]))
    else:
        dropped = sent.where(_captured_before(sent, events["t_ns"][events.words("kind") == "drop"]))
    if len(dropped):
        yield Marks(
            "TcpSnd_local_drop",
            "local_drop",
            selection.seconds(dropped["t_ns"]),
            (dropped["seq"] + shift).astype(np.float64),
            label="dropped by the local queue",
            group=group,
            details=tuple(f"dropped by the interface queue: byte {seq:,}" for seq in dropped["seq"].tolist()),
        )


def _captured_before(sent: Table, drops: Array) -> Array:
    """Rows of the segments that drops without further evidence stand for.

    The queue's log names the time only; the capture taps packets just before the queue, so the segment is the
    last one captured by then, and of several drops in a burst each has its own.
    """
    latest = np.searchsorted(sent["t_ns"], drops, side="right") - 1
    # Going back in time, a segment that is taken leaves the one before it to the earlier drop.
    rank = np.arange(len(latest))
    before = np.minimum.accumulate((latest - rank)[::-1])[::-1] + rank
    return before[before >= 0]
