"""PDUs of a bearer as bytes, as both its ends hand them to a capture."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Literal

from multitracer.lab.link import RawFrame
from multitracer.lab.rlc_frames import Pdu
from multitracer.lab.rlc_pdus import PduCoder
from multitracer.lab.settings import RlcAmSettings


class Recorder:
    """Notes what entities send and receive.

    Parameters
    ----------
    settings : RlcAmSettings
    """

    def __init__(self, settings: RlcAmSettings) -> None:
        self._coder = PduCoder(settings.window, settings.payload_bytes)
        self._frames: list[RawFrame] = []
        # By side: where packets begin and end in the stream, in order.
        self._begins: tuple[list[int], list[int]] = ([], [])
        self._ends: tuple[list[int], list[int]] = ([], [])
        self._known = False

    def drain(self) -> list[RawFrame]:
        """Take what was noted since the last call."""
        frames, self._frames = self._frames, []
        return frames

    def packet(self, side: int, begin: int, end: int) -> None:
        """A packet entered the stream of `side`.

        Parameters
        ----------
        side : int
            The one that sends.
        begin, end : int
            Its bytes in the stream: from `begin` to before `end`.
        """
        self._begins[side].append(begin)
        self._ends[side].append(end)

    def arrival(self, t_ns: int, cell: int) -> None:
        """The terminal is in another cell, which both ends see."""
        frame = self._coder.arrival(cell)
        self._frames += [RawFrame(t_ns, 0, "snd", frame), RawFrame(t_ns, 1, "rcv", frame)]

    def note(self, t_ns: int, side: int, direction: Literal["snd", "rcv"], pdu: Pdu) -> None:
        """An entity sent or received a PDU.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 the UE, 1 the base station.
        direction : {'snd', 'rcv'}
            Whether it was sent or received there.
        pdu : Pdu
        """
        if not self._known:
            self._known = True
            self.arrival(t_ns, 0)
        sender = side if direction == "snd" else 1 - side
        if pdu.kind == "reset" and sender == 1:
            return  # a base station that gives a bearer up waits for the terminal to come back
        self._frames.append(RawFrame(t_ns, side, direction, self._encoded(sender, pdu)))

    def _encoded(self, sender: int, pdu: Pdu) -> bytes:
        if pdu.kind == "status":
            return self._coder.bearer(sender == 0, self._coder.status(pdu.sn, pdu.nacks))
        if pdu.chunk is None:
            return self._coder.reestablishment(sender == 0)
        begin, data = pdu.chunk
        end = begin + len(data)
        begins, ends = self._begins[sender], self._ends[sender]
        inside = ends[bisect_right(ends, begin) : bisect_left(ends, end)]
        coded = self._coder.data(
            pdu.sn,
            pdu.poll,
            data,
            [place - begin for place in inside],
            _has(begins, begin),
            _has(ends, end),
            pdu.part,
        )
        return self._coder.bearer(sender == 0, coded)


def _has(places: list[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place
