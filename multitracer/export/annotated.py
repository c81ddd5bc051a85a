"""A pcapng of a capture with what was found out as comments: Wireshark shows and filters them."""

from __future__ import annotations

from typing import IO

from dpkt import pcapng

from multitracer import native
from multitracer.export.files import line, writing
from multitracer.export.notes import Note, notes_of
from multitracer.export.pcap import LARGEST
from multitracer.model.errors import UnreadableFile
from multitracer.native import RawPacket
from multitracer.output.results import Answers

_ORIGINAL_LENGTH = slice(24, 28)
_LONGEST = 400


def write(analysis: Answers, path: str, *, point: str = "snd") -> tuple[int, int]:
    """Write all packets of a capture, each as it was captured, judged ones with a comment.

    In Wireshark, ``frame.comment contains "retransmission"`` filters them; the comment of the section
    (Statistics, Capture File Properties) holds the diagnosis. Times have nanoseconds. Comments that the
    capture had already are not copied.

    Parameters
    ----------
    analysis : Answers
        All answers.
    path : str
        The file to write.
    point : {"snd", "rcv"}
        Which end's capture.

    Returns
    -------
    tuple of int
        Packets, and how many of them have a comment.

    Raises
    ------
    UsageError
        No such capture, or the file cannot be written.
    UnreadableFile
        If the capture is no longer what was read.

    References
    ----------
    draft-ietf-opsawg-pcapng sections 4.1 to 4.3.
    """
    origin, said = notes_of(analysis, point)
    interfaces: dict[int, int] = {}
    count = 0
    with writing(path, binary=True) as file:
        file.write(_section(analysis))
        for number, packet in native.packets(origin):
            if packet.link_type not in interfaces:
                interfaces[packet.link_type] = len(interfaces)
                file.write(_interface(packet.link_type))
            _packet(file, packet, interfaces[packet.link_type], said.get(number))
            count += 1
        if not count:
            raise UnreadableFile(f"{origin}: has changed since it was read")
    return count, len(said)


def _section(analysis: Answers) -> bytes:
    import multitracer

    found = analysis.to_dict()["diagnosis"]
    answer = " ".join(line(str(one["text"]), _LONGEST) for one in found[:5])
    options = [
        pcapng.PcapngOptionLE(
            code=pcapng.PCAPNG_OPT_SHB_USERAPPL, data=f"MultiTracer {multitracer.__version__}".encode()
        )
    ]
    if answer:
        options.insert(0, _comment(answer))
    return bytes(pcapng.SectionHeaderBlockLE(opts=[*options, pcapng.PcapngOptionLE()]))


def _interface(link_type: int) -> bytes:
    resolution = pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_IF_TSRESOL, data=b"\x09")
    block = pcapng.InterfaceDescriptionBlockLE(
        linktype=link_type, snaplen=LARGEST, opts=[resolution, pcapng.PcapngOptionLE()]
    )
    return bytes(block)


def _packet(file: IO[bytes], packet: RawPacket, interface: int, note: Note | None) -> None:
    ticks = packet.t_ns % 2**64
    options = [_comment(f"multitracer: {line(note.text, _LONGEST)}"), pcapng.PcapngOptionLE()] if note else []
    block = bytearray(
        bytes(
            pcapng.EnhancedPacketBlockLE(
                iface_id=interface,
                ts_high=ticks >> 32,
                ts_low=ticks & 0xFFFFFFFF,
                pkt_data=packet.data,
                opts=options,
            )
        )
    )
    # dpkt takes every packet for whole.
    block[_ORIGINAL_LENGTH] = max(packet.original_length, len(packet.data)).to_bytes(4, "little")
    file.write(block)


def _comment(text: str) -> pcapng.PcapngOptionLE:
    return pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_COMMENT, data=text.encode())
