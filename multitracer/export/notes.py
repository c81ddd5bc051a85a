"""What the analysis shows of single packets of a capture, for tools that show packets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from multitracer.diagnosis.explain.rules import RULES
from multitracer.export.pcap import capture_at
from multitracer.model.quantities import duration
from multitracer.model.table import Table
from multitracer.output.results import Answers

SHORTEST_WAIT_NS = 20_000_000
"""A limit that held the sender back for less is not noted at the packet that ended it."""

_EVIDENCE = {
    "ip_id": "IP ID",
    "timestamp": "TSval",
    "ip_id_and_timestamp": "IP ID and TSval",
    "duplicate_acks": "duplicate ACKs or SACK",
    "silence": "the time since the other copy",
    "too_soon": "how soon it came",
    "missing_ids": "missing IP IDs",
    "followed": "the other copy",
    "in_turn": "the retransmission before it",
    "header": "its ACK or length",
}
_LIMITS = {
    "application": "application",
    "receiver_window": "receiver window",
    "zero_window": "zero window",
    "congestion_window": "congestion window",
    "recovery": "loss recovery",
}


@dataclass
class Note:
    """The note on one packet; empty where there is none.

    Attributes
    ----------
    verdict : str
        ``retransmission``, ``reordered``, ``network_duplicate``, ``undecided`` (docs/arrivals.md).
    cause : str
        Of a retransmission: ``timeout``, ``fast``, ``slow_start``, ``tail_loss_probe`` ...
    evidence : str
        What the verdict rests on.
    timeout : str
        Of the first segment sent when a timer expired: ``spurious``, ``genuine``, ``inconclusive``.
    fate : str
        ``lost`` or ``damaged`` on the path; needs the other end's capture.
    limit : str
        What had held the sender back before this segment.
    waited_s : float
        For how long [s].
    words : list of str
        The same for people.
    """

    verdict: str = ""
    cause: str = ""
    evidence: str = ""
    timeout: str = ""
    fate: str = ""
    limit: str = ""
    waited_s: float = 0.0
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """One line."""
        return "; ".join(self.words)


def notes_of(analysis: Answers, point: str) -> tuple[str, dict[int, Note]]:
    """The capture at one end, as a path, and its notes by packet number.

    Raises
    ------
    UsageError
        No such capture, or it is no capture of packets.
    """
    source = capture_at(analysis.measurement, point)
    return analysis.measurement.sources[source].path, notes(analysis, source)


def notes(analysis: Answers, source: int) -> dict[int, Note]:
    """Notes by packet number.

    Parameters
    ----------
    analysis : Answers
        All answers; those that are missing leave their part of the notes empty.
    source : int
        Number of the capture.
    """
    found: dict[int, Note] = {}
    m = analysis.measurement
    _arrivals(found, m.table("arrivals"), source)
    _retransmissions(found, m.table("segments"), source)
    _timeouts(found, _of(analysis, "timeouts", "timeouts"), source)
    if source == m.snd or len([one for one in m.sources if one.layer == "tcp"]) == 1:
        _fates(found, _of(analysis, "losses", "fates"))
        _limits(found, _of(analysis, "limits", "phases"))
        _idle(found, _of(analysis, "idle_phases", "idle_phases"))
    return found


def _of(analysis: Answers, name: str, table: str) -> Table | None:
    result = analysis.results.get(name)
    return None if result is None else result.tables.get(table)


def _at(found: dict[int, Note], record: int) -> Note:
    return found.setdefault(record, Note())


def _arrivals(found: dict[int, Note], rows: Table, source: int) -> None:
    mine = rows.where(rows["source"] == source)
    for record, verdict, cause, evidence in zip(
        mine["record"].tolist(),
        mine.words("verdict").tolist(),
        mine.words("cause").tolist(),
        mine.words("evidence").tolist(),
        strict=True,
    ):
        note = _at(found, record)
        note.verdict, note.cause, note.evidence = str(verdict), str(cause), str(evidence)
        why = f" ({RULES[note.cause].name})" if note.cause in RULES else ""
        how = f", by {_EVIDENCE.get(note.evidence, note.evidence)}" if note.evidence else ""
        note.words.append(f"{note.verdict.replace('_', ' ')}{why}{how}")


def _retransmissions(found: dict[int, Note], rows: Table, source: int) -> None:
    """Those that are no data out of order: of a SYN, of a FIN."""
    mine = rows.where((rows["source"] == source) & (rows["cause"] != 0))
    for record, cause in zip(mine["record"].tolist(), mine.words("cause").tolist(), strict=True):
        note = _at(found, record)
        if not note.verdict:
            note.verdict, note.cause = "retransmission", str(cause)
            note.words.append(
                f"retransmission ({RULES[note.cause].name})" if note.cause in RULES else "retransmission"
            )


def _timeouts(found: dict[int, Note], rows: Table | None, source: int) -> None:
    if rows is None:
        return
    mine = rows.where(rows["source"] == source)
    for record, verdict, waited_ns in zip(
        mine["record"].tolist(), mine.words("verdict").tolist(), mine["waited_ns"].tolist(), strict=True
    ):
        note = _at(found, record)
        note.timeout = str(verdict)
        after = f" after {duration(waited_ns / 1e9)}" if waited_ns > 0 else ""
        note.words.append(f"{note.timeout} timeout{after}")


def _fates(found: dict[int, Note], rows: Table | None) -> None:
    if rows is None:
        return
    for record, fate in zip(rows["record"].tolist(), rows.words("fate").tolist(), strict=True):
        if fate in ("lost", "damaged"):
            note = _at(found, record)
            note.fate = str(fate)
            note.words.append("lost on the path" if fate == "lost" else "arrived corrupted")


def _limits(found: dict[int, Note], rows: Table | None) -> None:
    if rows is None:
        return
    long = rows.where((rows["end_ns"] - rows["t_ns"] >= SHORTEST_WAIT_NS) & (rows["record"] > 0))
    for record, limit, waited_ns in zip(
        long["record"].tolist(),
        long.words("limit").tolist(),
        (long["end_ns"] - long["t_ns"]).tolist(),
        strict=True,
    ):
        note = _at(found, record)
        note.limit, note.waited_s = str(limit), waited_ns / 1e9
        note.words.append(
            f"in a phase of {duration(note.waited_s)} limited by: {_LIMITS.get(note.limit, note.limit)}"
        )


def _idle(found: dict[int, Note], rows: Table | None) -> None:
    if rows is None:
        return
    woken = rows.where(np.asarray(rows["wake_record"]) > 0)
    for record, cause, because, idle_ns in zip(
        woken["wake_record"].tolist(),
        woken.words("cause").tolist(),
        woken["because"].tolist(),
        (woken["end_ns"] - woken["t_ns"]).tolist(),
        strict=True,
    ):
        why = f": {because}" if because else ""
        _at(found, record).words.append(
            f"ended {duration(idle_ns / 1e9)} of an idle link ({str(cause).replace('_', ' ')}{why})"
        )
