"""Files that are not read, but are known: what each is, and the command that makes it readable."""

from __future__ import annotations

_TAR_AT = 257  # POSIX.1-1988 ustar: the magic of the first header


def remedy(head: bytes) -> str | None:
    """What a file is that no parser reads, and what to do with it; None if it is not known.

    Parameters
    ----------
    head : bytes
        The first bytes of the file, decompressed.
    """
    if head.startswith(b"\x17\x08\x44tracing"):
        return "a trace.dat of trace-cmd, which is not read; convert it: trace-cmd report -t FILE > FILE.txt"
    if head.startswith((b"PERFILE2", b"2ELIFREP")):
        return "a perf.data of perf, which is not read; convert it: perf script --ns -i FILE > FILE.txt"
    if head.startswith((b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c")):
        return "an archive; unpack it, and name the directory"
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "a tar archive; unpack it, and name the directory"
    return None
