"""The explanation of a packet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Explanation:
    """An explanation.

    Attributes
    ----------
    kind : str
        "retransmission", "stall", "data" or "ack".
    title : str
    conn, record, source : int
        The packet that it is about: its number in the capture with that index.
    t_s : float
        Its time, seconds from the first TCP event.
    lines : list of dict
        ``{"about", "text", "records"}``: a heading, a sentence, the packets that show it.
    """

    kind: str
    title: str
    conn: int
    record: int
    source: int
    t_s: float
    lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, about: str, text: str, *records: int) -> None:
        """One more sentence.

        Parameters
        ----------
        about : str
            The heading below which it stands.
        text : str
            The sentence.
        *records : int
            Numbers of packets that show it; those that are not above 0 are left out.
        """
        self.lines.append({"about": about, "text": text, "records": [int(r) for r in records if r > 0]})

    def to_dict(self) -> dict[str, Any]:
        """As ``multitracer explain --json`` prints it."""
        return dict(vars(self))
