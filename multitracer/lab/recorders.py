"""Captures of a link's own frames, as an analyser of its kind would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from multitracer.lab.arq import ArqLink
from multitracer.lab.gsmtap import FrameWriter
from multitracer.lab.interfaces import RealLink
from multitracer.lab.link import FrameSink, Link
from multitracer.lab.radiotap import RadiotapWriter
from multitracer.lab.rlc_am import RlcAmLink
from multitracer.lab.rlc_pdus import PduWriter


class Recorder(FrameSink, Protocol):
    """A writer of frames that is closed at the end."""

    def close(self) -> None:
        """Finish the file."""


def replaces_log(link: Link | RealLink) -> str | None:
    """Name of the capture that replaces the link's log; None if the log does."""
    if isinstance(link, RlcAmLink):
        return "rlc.pcapng" if link.is_recorded else None
    return "wifi.pcap" if isinstance(link, ArqLink) and link.monitor is not None else None


def open_recorder(
    link: Link | RealLink, gsmtap: bool, file: Callable[[str], str], addresses: tuple[str, str], start_ns: int
) -> Recorder | None:
    """The writer for a link's frames; None if none are wanted, or the link has none.

    Parameters
    ----------
    link : Link or RealLink
    gsmtap : bool
        Whether a capture in addition to the log is wanted.
    file : callable
        Path of a file in the making, by name.
    addresses : tuple of str
        Of both ends.
    start_ns : int
        Begin of the run.
    """
    if isinstance(link, ArqLink):
        if link.monitor is None:
            return None
        frames = link.monitor.frames
        return RadiotapWriter(file("wifi.pcap"), start_ns, frames.rate_bps, frames.ack_rate_bps)
    if isinstance(link, RlcAmLink):
        return PduWriter(file("rlc.pcapng")) if link.is_recorded else None
    if gsmtap and hasattr(link, "drain_frames"):
        # The frames of rlp.log once more: apart, or a reader of the directory would count them twice.
        return FrameWriter(file("frames/rlp.pcap"), addresses, start_ns)
    return None
