"""The kernel's protocol counters as ``/proc/net`` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise


def parse_counters(text: str) -> Iterator[tuple[str, int]]:
    """Names and values of ``/proc/net/snmp`` and ``/proc/net/netstat``: a line of names, a line of values.

    Names are those of `nstat`: TcpRetransSegs, TcpExtTCPTimeouts.
    """
    for names, values in pairwise(line.split() for line in text.splitlines()):
        if len(names) > 1 and values and names[0] == values[0] and not names[1].lstrip("-").isdigit():
            prefix = names[0].rstrip(":")
            for name, value in zip(names[1:], values[1:], strict=False):
                yield prefix + name, int(value)
