"""Packet captures: pcap and pcapng, of tcpdump, Wireshark and everything else that writes them.

Manual pages: docs/formats/pcap.md, docs/formats/pcapng.md. The Rust core reads and tracks in one pass;
this module only puts its answer into a `Trace`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multitracer import native
from multitracer.model.errors import Issue
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.native.rotated import Parts


def sniff_pcap(head: bytes) -> bool:
    """Whether the first bytes are a pcap file header."""
    return native.capture_format(head) == "pcap" and not _of_others(head)


def sniff_pcapng(head: bytes) -> bool:
    """Whether the first bytes are a pcapng section header."""
    return native.capture_format(head) == "pcapng" and not _of_others(head)


def _of_others(head: bytes) -> bool:
    """Whether a parser of its own reads what this capture holds."""
    readers = (native.sniff_gsmtap, native.sniff_dccp, native.sniff_wifi, native.sniff_rlc)
    return any(reads(head) for reads in readers)


def parse(path: str) -> Trace:
    """Read a capture: segments, retransmissions, timeouts, and a summary of each connection.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If its header is damaged.
    """
    return trace_of(path, native.read_capture(path, keep_segments=True))


def few(path: str, most: int) -> Trace:
    """Read a capture of at most so many connections.

    Raises
    ------
    UnreadableFile, CorruptTrace
    TooManyConnections
        It has more: then little of it may have been read.
    """
    return trace_of(path, native.read_capture(path, keep_segments=True, most=most))


def summarise(path: str) -> Trace:
    """Read a capture without tables: memory is in proportion to connections.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return trace_of(path, native.read_capture(path, keep_segments=False))


def trace_of(path: str, found: dict[str, Any]) -> Trace:
    """What the core found in a capture (`native.read_capture`), with tables where segments were kept."""
    info: dict[str, Any] = found["info"]
    source = Source(
        path=path,
        format=info["format"],
        layer="tcp",
        records=info["records"],
        clock="realtime",
        first_ns=info["first_ns"],
        last_ns=info["last_ns"],
        resolution_ns=info["resolution_ns"],
        tcp_segments=info["tcp_segments"],
        details=_details(path, info),
    )
    issues = [Issue(code, count, record, detail, path) for code, count, record, detail in found["issues"]]
    trace = Trace(source=source, issues=issues, connections=found["connections"])
    trace.piped = found.get("piped")
    if "segments" in found:
        from multitracer.parsers._helpers.tcptables import tcp_tables

        trace.tables = tcp_tables(found)
    return trace


def _details(path: str, info: dict[str, Any]) -> dict[str, Any]:
    """What `info` shows in addition; what a file does not have is left out."""
    details = {
        "link_type": info["link_type_name"],
        "snaplen": info["snaplen"],
        "bytes": info["bytes"],
        "packets_by_kind": info["packets_by_kind"],
        "compressed": info["compressed"],
    }
    if isinstance(path, Parts):
        details["files"] = list(path.files)
    if info["tunnels"]:
        details["tunnels"] = info["tunnels"]
    if info["format"] == "pcapng":
        details["blocks"] = info["blocks"]
        details["interfaces"] = info["interfaces"]
        if info["interface_count"] > len(info["interfaces"]):
            details["interface_count"] = info["interface_count"]
        if info["application"]:
            details["application"] = info["application"]
    if info["comment_count"]:
        details["comment_count"] = info["comment_count"]
        details["comments"] = [{"record": record, "text": text} for record, text in info["comments"]]
    return details


def _parser(name: str, title: str, sniff: Callable[[bytes], bool]) -> Parser:
    return Parser(name=name, title=title, layer="tcp", sniff=sniff, parse=parse, few=few, summarise=summarise)


PCAP = _parser(
    "pcap",
    "packet capture (tcpdump): pcap, microseconds or nanoseconds, either byte order",
    sniff_pcap,
)
PCAPNG = _parser(
    "pcapng",
    "packet capture (Wireshark, dumpcap): pcapng, any number of interfaces and sections",
    sniff_pcapng,
)
