"""The kernel's own TCP counters and sockets of one namespace, as `nstat` shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from multitracer.lab.netns import Namespace
from multitracer.linux.counters import parse_counters

_LISTEN, _TIME_WAIT = 0x0A, 0x06
# Settings and gauges, not counts; nstat leaves them out as well.
_NO_COUNTS = frozenset({"TcpRtoAlgorithm", "TcpRtoMin", "TcpRtoMax", "TcpMaxConn", "TcpCurrEstab"})


class Counters:
    """Reads a namespace's counters without reentering it; the namespace begins at zero."""

    def __init__(self, namespace: Namespace) -> None:
        self._files = [namespace.open(name) for name in ("snmp", "netstat", "tcp")]

    def close(self) -> None:
        """Close the files."""
        for fd in self._files:
            os.close(fd)

    def tcp(self) -> dict[str, int]:
        """Counts of TCP that are not zero, by nstat's names (TcpRetransSegs, TcpExtTCPTimeouts, ...)."""
        return {
            name: value
            for fd in self._files[:2]
            for name, value in parse_counters(_whole(fd))
            if name.startswith("Tcp") and value and name not in _NO_COUNTS
        }

    def listening(self, port: int) -> bool:
        """Whether a socket listens on `port`."""
        return any(
            state == _LISTEN and local == port for state, local in parse_sockets(_whole(self._files[2]))
        )

    def open_sockets(self) -> int:
        """Connections that are still open (neither listening nor in TIME-WAIT)."""
        sockets = parse_sockets(_whole(self._files[2]))
        return sum(1 for state, _ in sockets if state not in (_LISTEN, _TIME_WAIT))


def parse_sockets(text: str) -> Iterator[tuple[int, int]]:
    """State and local port of each line of ``/proc/net/tcp``."""
    for line in text.splitlines()[1:]:
        words = line.split()
        yield int(words[3], 16), int(words[1].rpartition(":")[2], 16)


def _whole(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    parts = []
    while part := os.read(fd, 65_536):
        parts.append(part)
    return b"".join(parts).decode()
