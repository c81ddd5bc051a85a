"""JSON of iperf3, either end, as one document or as a stream (docs/formats/iperf3.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from multitracer import jsonlog, native, schema
from multitracer.errors import CorruptTrace, Issue
from multitracer.registry import Parser
from multitracer.trace import ClockKind, Flow, Source, Trace

_DOCUMENT = re.compile(rb'\s*\{\s*"(title|extra_data|start)"\s*:')
_KEYS = re.compile(rb'"(connected|sock_bufsize|connecting_to|tcp_mss_default|accepted_connection)"\s*:')
_STREAM = re.compile(rb'\s*\{\s*"event"\s*:\s*"(start|interval|end|error)"')
_LONGEST_EVENT = 16 << 20
_MAX_STREAMS = 4096
_MAX_SECONDS = 10**8
_S = 10**9
_COOKIE_BYTES = 37  # what the client writes into each stream before the test


def sniff(head: bytes) -> bool:
    """Whether it begins like a document or a stream of iperf3."""
    return bool(_STREAM.match(head) or (_DOCUMENT.match(head) and _KEYS.search(head)))


def parse(path: str) -> Trace:
    """Read the intervals of iperf3: one row of `tcp_states` per stream and interval, at its end.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no interval of a TCP stream, or is too large to be held in memory.

    Notes
    -----
    `record` is the number of the part (start, interval ...) or the line of a stream. The wall clock is known
    to whole seconds. `snd_cwnd` is bytes in the file; it is divided by the segment size.

    Reference: iperf3 ``src/iperf_api.c``.
    """
    test = _Test(path)
    head = native.head(path, 4096)
    streamed = _STREAM.match(head) is not None
    issues: list[Issue] = []
    if streamed:
        lines = native.Lines(path, _LONGEST_EVENT)
        for number, line in lines:
            if line.strip():
                event = jsonlog.mapping(jsonlog.parsed(line))
                test.event(number, event.get("event"), event.get("data"))
        issues = lines.issues
    else:
        for number, (key, value) in enumerate(_events(test, jsonlog.document(path)), 1):
            test.event(number, key, value)
    issues = test.tally.issues(issues)
    if not len(test.rows):
        why = f": iperf3 says {test.error!r}" if test.error else ""
        raise CorruptTrace(f"{path}: no interval of a TCP stream can be read{why}")
    states = test.rows.table()
    clock: ClockKind = "realtime" if test.base_ns else "unknown"
    source = Source(
        path=path,
        format="iperf3",
        layer="kernel",
        records=len(states),
        clock=clock,
        first_ns=min(test.start_ns, int(states["t_ns"][0])),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=_S if clock == "realtime" else 1000,
        details={**test.details, "streamed": streamed, "intervals": test.intervals, "error": test.error},
    )
    return Trace(source, {"tcp_states": states}, [*issues, *test.rows.disorder(path)], test.flows)


def _events(test: _Test, text: str) -> Iterator[tuple[str, Any]]:
    """Parts of all documents of a file; of one that is cut, those before the cut."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        found = jsonlog.value_at(decoder, text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            test.tally.add(
                "truncated-file", line, "the JSON ends early or is damaged; what is before was read"
            )
            yield from _rescued(decoder, text, at)
            return
        whole, end = found
        for key in ("start", "intervals", "end", "error"):
            part = jsonlog.mapping(whole).get(key)
            if key == "intervals":
                yield from (("interval", interval) for interval in jsonlog.items(part))
            elif part is not None:
                yield key, part
        at = text.find("{", end)


def _rescued(decoder: json.JSONDecoder, text: str, at: int) -> Iterator[tuple[str, Any]]:
    """The start and the whole intervals of a document that is cut."""
    for key in ("start", "intervals"):
        place = re.compile(rf'"{key}"\s*:\s*\[?\s*').search(text, at)
        if place is None:
            return
        at = place.end()
        while (found := jsonlog.value_at(decoder, text, at)) is not None:
            yield "interval" if key == "intervals" else key, found[0]
            gap = re.compile(r"\s*,\s*").match(text, found[1])
            at = found[1] if gap is None or key == "start" else gap.end()
            if gap is None or key == "start":
                break


class _Test:
    """One test after the other: what `start` said, and the rows of its intervals."""

    def __init__(self, path: str) -> None:
        self.rows = jsonlog.Rows(schema.TCP_STATES)
        self.tally = jsonlog.Tally(path)
        self.flows: list[Flow] = []
        self.details: dict[str, Any] = {}
        self.base_ns = 0
        self.start_ns = 1 << 62
        self.intervals = 0
        self.error: str | None = None
        self._by_socket: dict[int, int] = {}
        self._mss = -1
        self._ends: dict[int, float] = {}
        self._shift: dict[int, float] = {}
        self._bytes: dict[tuple[int, bool], int] = {}
        self._retransmits: dict[int, int] = {}

    def event(self, number: int, kind: Any, data: Any) -> None:
        """One part of a document, or one line of a stream."""
        if kind == "start":
            self._start(jsonlog.mapping(data))
        elif kind == "interval":
            self.intervals += 1
            streams = jsonlog.items(jsonlog.mapping(data).get("streams"))
            for stream in streams[:_MAX_STREAMS]:
                self._interval(number, jsonlog.mapping(stream))
        elif kind == "error":
            self.error = str(data)[:200]
        elif kind == "end":
            self._end(jsonlog.mapping(data))
        elif kind not in ("server_output_text", "server_output_json"):
            self.tally.add("unparsed-line", number, f"not an event of iperf3: {str(kind)[:60]!r}")

    def _start(self, start: Mapping[str, Any]) -> None:
        self._by_socket, self._ends, self._shift = {}, {}, {}
        self._bytes, self._retransmits = {}, {}
        seconds = jsonlog.number(jsonlog.mapping(start.get("timestamp")), "timesecs")
        self.base_ns = round(seconds) * _S if seconds is not None and 0 < seconds < 9e9 else 0
        for entry in map(jsonlog.mapping, jsonlog.items(start.get("connected"))[:_MAX_STREAMS]):
            self._connected(entry)
        self._mss = max(jsonlog.whole(start, "tcp_mss"), jsonlog.whole(start, "tcp_mss_default"))
        asked = jsonlog.mapping(start.get("test_start"))
        client = "connecting_to" in start
        self.details = {
            "version": str(start.get("version", ""))[:60],
            "system": str(start.get("system_info", ""))[:120],
            "side": "client" if client else "server",
            "protocol": asked.get("protocol") if isinstance(asked.get("protocol"), str) else None,
            "reverse": bool(asked.get("reverse")),
            "bidirectional": bool(asked.get("bidir")),
            "block_bytes": jsonlog.whole(asked, "blksize"),
            "duration_s": jsonlog.number(asked, "duration"),
            "bytes_before_writing": _COOKIE_BYTES if client else 0,
            "bytes_before_reading": 0 if client else _COOKIE_BYTES,
        }

    def _connected(self, entry: Mapping[str, Any]) -> None:
        ports = jsonlog.whole(entry, "local_port"), jsonlog.whole(entry, "remote_port")
        hosts = entry.get("local_host"), entry.get("remote_host")
        socket = jsonlog.whole(entry, "socket")
        if not all(isinstance(host, str) for host in hosts) or not all(0 <= port < 65536 for port in ports):
            return
        local, remote = (str(host).removeprefix("::ffff:").partition("%")[0] for host in hosts)
        flow = Flow(local, ports[0], remote, ports[1])
        self._by_socket[socket] = self.flows.index(flow) if flow in self.flows else len(self.flows)
        if flow not in self.flows:
            self.flows.append(flow)

    def _interval(self, number: int, stream: Mapping[str, Any]) -> None:
        socket, end, begin = (
            jsonlog.whole(stream, "socket"),
            jsonlog.number(stream, "end"),
            jsonlog.number(stream, "start"),
        )
        flow = self._by_socket.get(socket)
        protocol = self.details.get("protocol")
        if flow is None or end is None or begin is None or not 0 <= begin <= end < _MAX_SECONDS:
            self.tally.add(
                "bad-number", number, f"interval of socket {socket} without a known stream or times"
            )
            return
        if protocol not in (None, "TCP"):
            return
        # with -O the time begins anew behind the intervals left out
        last = self._ends.get(socket, 0.0)
        if begin < last - 0.5 * (end - begin):
            self._shift[socket] = self._shift.get(socket, 0.0) + last
        self._ends[socket] = end
        shift = self._shift.get(socket, 0.0)
        sender = stream.get("sender") is not False if "sender" in stream else "snd_cwnd" in stream
        before = self.details["bytes_before_writing" if sender else "bytes_before_reading"]
        counted = self._bytes.get((socket, sender), before) + max(jsonlog.whole(stream, "bytes"), 0)
        self._bytes[socket, sender] = counted
        self.start_ns = min(self.start_ns, self.base_ns + round((shift + begin) * _S))
        row = {
            "t_ns": self.base_ns + round((shift + end) * _S),
            "record": number,
            "flow": flow,
            "app_written" if sender else "app_read": counted,
        }
        if sender:
            row |= self._sender(socket, stream)
        self.rows.add(row)

    def _sender(self, socket: int, stream: Mapping[str, Any]) -> dict[str, int]:
        cwnd = jsonlog.whole(stream, "snd_cwnd")
        again = jsonlog.whole(stream, "retransmits")
        if again >= 0:
            self._retransmits[socket] = self._retransmits.get(socket, 0) + again
        rtt, rttvar = jsonlog.whole(stream, "rtt", 1000), jsonlog.whole(stream, "rttvar", 1000)
        return {
            "cwnd": cwnd // self._mss if cwnd > 0 and self._mss > 0 else -1,
            "snd_wnd": jsonlog.whole(stream, "snd_wnd"),
            "srtt_ns": rtt if rtt > 0 else -1,
            "rttvar_ns": rttvar if rttvar > 0 else -1,
            "mss": self._mss,
            "retrans_total": self._retransmits.get(socket, -1),
        }

    def _end(self, end: Mapping[str, Any]) -> None:
        for side in ("sum_sent", "sum_received"):
            total = jsonlog.mapping(end.get(side))
            if total:
                self.details[side] = {key: jsonlog.number(total, key) for key in ("bytes", "bits_per_second")}


PARSER = Parser(
    name="iperf3",
    title="iperf3 -J and --json-stream, of client or server",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
