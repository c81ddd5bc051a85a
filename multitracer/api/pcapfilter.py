"""Filters of whole connections in pcap-filter's words: host, net, port, portrange, tcp, and, or, not.

Reference: pcap-filter(7). ``and`` and ``or`` bind equally, from left to right; ``not`` binds closer. A
value without a word before it takes that of the value before (``port 80 or 443``). A connection has packets
of both directions: ``src`` and ``dst`` have no meaning for it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from multitracer.model.errors import UsageError

Endpoints = tuple[tuple[str, int], tuple[str, int]]
Matches = Callable[[Endpoints], bool]

_TOKEN = re.compile(r"\s*(\(|\)|!|&&|\|\||[^\s()!&|]+)")
_AND, _OR, _NOT = ("and", "&&"), ("or", "||"), ("not", "!")
_WORDS = ("host", "net", "port", "portrange")
_DEEPEST = 100
_LONGEST = 10_000


def compiled(text: str) -> Matches:
    """What a filter states about a connection's endpoints.

    Parameters
    ----------
    text : str
        ``host 10.0.0.2 and port 443``; empty: every connection.

    Returns
    -------
    callable
        ``matches(endpoints)``.

    Raises
    ------
    UsageError
        The filter cannot be read; the message names the place.
    """
    _refuse_display_filter(text)
    if len(text) > _LONGEST:
        raise UsageError(f"--filter: longer than {_LONGEST:,} letters")
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise UsageError(f"--filter: {text[at:].strip()!r} cannot be read")
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        return lambda endpoints: True
    reader = _Reader(tokens)
    matches = reader.expression(0)
    if reader.at < len(tokens):
        raise UsageError(f"--filter: {tokens[reader.at]!r} does not belong here; words are joined by and, or")
    return matches


_DISPLAY = re.compile(r"(?<![\w.:])([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)(?:\s*(?:==|eq)\s*([^\s()&|]+))?")
_FIELDS = {
    "tcp.port": "port", "tcp.srcport": "port", "tcp.dstport": "port", "ip.addr": "host", "ip.src": "host",
    "ip.dst": "host", "ipv6.addr": "host", "ipv6.src": "host", "ipv6.dst": "host",
}  # fmt: skip


def _refuse_display_filter(text: str) -> None:
    """Filters of Wireshark have another syntax; the message gives the capture filter for it."""
    found = _DISPLAY.search(text[:_LONGEST])
    if found is None or found[1].partition(".")[0] not in ("tcp", "ip", "ipv6", "eth", "frame", "udp"):
        return
    field, value = found[1], found[2]
    if field == "tcp.stream":
        write = f"name the connection with --conn{f' {value}' if value else ' N'}"
    elif field in _FIELDS and value:
        write = f"write {f'{_FIELDS[field]} {value}'!r}"
    else:
        write = "write a capture filter: 'host 10.0.0.2 and port 443'"
    raise UsageError(f"--filter: {field!r} belongs to a display filter of Wireshark; {write}")


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.word = "host"

    def expression(self, depth: int) -> Matches:
        if depth > _DEEPEST:
            raise UsageError(f"--filter: more than {_DEEPEST} parentheses or nots inside each other")
        left = self.term(depth)
        while (word := self.peek()) in (*_AND, *_OR):
            self.at += 1
            left = _joined(left, self.term(depth), every=word in _AND)
        return left

    def term(self, depth: int) -> Matches:
        word = self.take()
        if word in _NOT:
            if depth > _DEEPEST:
                raise UsageError(f"--filter: more than {_DEEPEST} parentheses or nots inside each other")
            inner = self.term(depth + 1)
            return lambda endpoints: not inner(endpoints)
        if word == "(":
            inner = self.expression(depth + 1)
            if self.peek() != ")":
                raise UsageError("--filter: a parenthesis is not closed")
            self.at += 1
            return inner
        return self.primitive(word)

    def primitive(self, word: str) -> Matches:
        if word in ("src", "dst"):
            raise UsageError(f"--filter: a connection has both directions: leave out {word!r}")
        if word in ("udp", "icmp", "sctp", "arp"):
            raise UsageError(f"--filter: connections are of TCP: {word!r} matches none")
        if word in ("tcp", "ip", "ip6"):
            only = {"tcp": (4, 6), "ip": (4,), "ip6": (6,)}[word]
            if self.peek() in (*_WORDS, "src", "dst"):  # `tcp port 80`
                return _joined(_version(only), self.primitive(self.take()), every=True)
            return _version(only)
        if word in _WORDS:
            self.word = word
            word = self.take()
        return _PRIMITIVES[self.word](word)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        if self.at >= len(self.tokens):
            raise UsageError("--filter: it ends where a word is missing")
        self.at += 1
        return self.tokens[self.at - 1]


def _joined(left: Matches, right: Matches, *, every: bool) -> Matches:
    if every:
        return lambda endpoints: left(endpoints) and right(endpoints)
    return lambda endpoints: left(endpoints) or right(endpoints)


def _version(only: tuple[int, ...]) -> Matches:
    return lambda endpoints: (6 if ":" in endpoints[0][0] else 4) in only


def _host(value: str) -> Matches:
    try:
        wanted = ipaddress.ip_address(value)
    except ValueError:
        raise UsageError(f"--filter: {value!r} is no address (names are not looked up)") from None
    return lambda endpoints: any(_address(address) == wanted for address, _ in endpoints)


def _net(value: str) -> Matches:
    whole, slash, bits = value.partition("/")
    if whole.count(".") < 3 and re.fullmatch(r"[\d.]+", whole):  # `net 10.1`
        parts = whole.split(".")
        whole, bits = ".".join(parts + ["0"] * (4 - len(parts))), bits if slash else str(8 * len(parts))
    try:
        wanted = ipaddress.ip_network(f"{whole}/{bits}" if bits else whole)
    except ValueError as error:
        raise UsageError(f"--filter: {value!r} is no network: {error}") from None
    return lambda endpoints: any(
        (one := _address(address)) is not None and one in wanted for address, _ in endpoints
    )


def _port(value: str) -> Matches:
    wanted = _number(value)
    return lambda endpoints: any(port == wanted for _, port in endpoints)


def _portrange(value: str) -> Matches:
    first, dash, last = value.partition("-")
    low, high = _number(first), _number(last) if dash else _number(first)
    return lambda endpoints: any(low <= port <= high for _, port in endpoints)


def _number(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", value) or int(value) > 0xFFFF:
        raise UsageError(f"--filter: {value!r} is no port")
    return int(value)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:  # a simulator's node
        return None


_PRIMITIVES: dict[str, Callable[[str], Matches]] = {
    "host": _host,
    "net": _net,
    "port": _port,
    "portrange": _portrange,
}
