"""Files of other programs, which are not read: what each is, and the command that makes it readable."""

from __future__ import annotations

import os
import shlex

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"snoop\0\0\0", "a snoop capture (Solaris, RFC 1761; tcptrace's .snp)"),
    (b"btsnoop\0", "a Bluetooth HCI log (btsnoop)"),
    (b"RTSS", "a capture of Microsoft Network Monitor 1"),
    (b"GMBU", "a capture of Microsoft Network Monitor 2"),
    (b"TRSNIFF data    \x1a", "a capture of a Sniffer (DOS)"),
    (b"XCP\0", "a capture of NetXRay or a Sniffer (Windows)"),
    (b"iptrace 1.0", "a capture of AIX's iptrace"),
    (b"iptrace 2.0", "a capture of AIX's iptrace"),
    (b"\x54\x52\x00\x64\x00", "a capture of HP-UX's nettl"),
    (b"\x05VNF", "a capture of Visual Networks"),
    (b"\x7fver", "a capture of EtherPeek or OmniPeek"),
    (b"\xaa\xaa\xaa\xaa\x20\0\0\0", "a capture of InfoVista 5View"),
    (b"ObserverPktBuffe", "a capture of Viavi Observer"),
    (b"+---------+---------------+----------+", "a K12 text file"),
    (b"\x01\x10\x4c\0\x01\x05Trace Display Tr", "a capture of Novell LANalyzer"),
)
_LINKS_UNSAID = ("a capture of HP-UX's nettl", "a K12 text file")
"""Where pcapng has no link type for their packets: editcap needs to be given one."""
_OTHERS: tuple[tuple[bytes, int, str], ...] = (
    (b"PERFILE2", 0, "a perf.data of perf, which is not read; convert it: perf script --ns -i {} > {}"),
    (b"2ELIFREP", 0, "a perf.data of perf, which is not read; convert it: perf script --ns -i {} > {}"),
    (b"PK\x03\x04", 0, "an archive; unpack it, and name the directory"),
    (b"7z\xbc\xaf\x27\x1c", 0, "an archive; unpack it, and name the directory"),
    (b"ustar", 257, "a tar archive; unpack it, and name the directory"),  # POSIX.1-1988: the first header
)
_ERF_HEADER = 16
_ERF_TYPES = range(1, 49)
_ERF_ENDINGS = (".erf", ".dag")


def named(path: str, head: bytes) -> str | None:
    """What a file is that only another program reads, with the command that converts it.

    Parameters
    ----------
    path : str
        Its name, which goes into the command.
    head : bytes
        Its first bytes, decompressed.

    Returns
    -------
    str or None
        None if it is none of them.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    for magic, at, words in _OTHERS:
        if head[at : at + len(magic)] == magic:
            return words.format(shlex.quote(path), shlex.quote(stem + ".txt"))
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind is None and _is_erf(path, head):
        kind = "a capture of an Endace card (ERF)"
    if kind is None:
        return None
    link = "-T ether " if kind in _LINKS_UNSAID else ""
    command = f"editcap -F pcapng {link}{shlex.quote(path)} {shlex.quote(stem + '.pcapng')}"
    return f"{kind}, which is not read; convert it with Wireshark's editcap: {command}"


def is_table(path: str, head: bytes) -> bool:
    """Whether it is a table by name and content: as many fields in the second line as in the first."""
    if not path.lower().removesuffix(".gz").endswith((".csv", ".tsv")) or b"\0" in head:
        return False
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith(b"#")][:2]
    return len(lines) == 2 and any(
        lines[0].count(sign) == lines[1].count(sign) > 0 for sign in (b",", b";", b"\t")
    )


def _is_erf(path: str, head: bytes) -> bool:
    """Whether records of ERF follow each other to the end of what is there; it has no mark of its own."""
    at = count = 0
    while at + _ERF_HEADER <= len(head):
        kind, length = head[at + 8] & 0x7F, int.from_bytes(head[at + 10 : at + 12], "big")
        wire = int.from_bytes(head[at + 14 : at + 16], "big")
        if kind not in _ERF_TYPES or length < _ERF_HEADER or (kind != 27 and not wire):
            return False
        at, count = at + length, count + 1
    # A few records could be chance where the name does not show it.
    return count >= (1 if path.lower().endswith(_ERF_ENDINGS) else 4)
