"""Logs of bcc's and bpftrace's tcpretrans and bcc's tcpstates (docs/formats/bcc.md)."""

from __future__ import annotations

import re

from multitracer import fileoptions, jsonlog, native, schema
from multitracer.errors import CorruptTrace, Issue
from multitracer.registry import Parser
from multitracer.trace import Flow, Source, Trace

_CLOCK = rb"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
_ENDPOINT = rb"[0-9A-Fa-f.:\[\]]+:\d+"
_RETRANS = re.compile(
    rb"^(?P<time>" + _CLOCK + rb")\s+\d+\s+(?:[46]\s+)?(?P<local>" + _ENDPOINT + rb")"
    rb"(?:\s+(?P<type>[RL])>)?\s+(?P<remote>" + _ENDPOINT + rb")\s+(?P<state>[A-Z][A-Z_0-9]+)\b"
)
_RETRANS_ANY = re.compile(_RETRANS.pattern, re.MULTILINE)
_STATES_HEAD = re.compile(
    rb"^(TIME,|TIME\(s\),|TIME\s+|TIME\(s\)\s+)?SKADDR[, \t]+(C-)?PID[, \t]", re.MULTILINE
)
_RETRANS_HEAD = re.compile(rb"^TIME\s+PID\s+(IP\s+)?LADDR:LPORT\s", re.MULTILINE)
_NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            *("ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE"),
            *("CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV"),
        ),
        1,
    )
}
_NUMBERS |= {name.replace("_", ""): number for name, number in _NUMBERS.items()}
_RETRANSMIT, _SOCK_STATE = (schema.KERNEL_EVENTS.code("kind", kind) for kind in ("retransmit", "sock_state"))
_MAX_FLOWS = 1 << 16
_DAY_NS = 86_400 * 10**9


def sniff(head: bytes) -> bool:
    """Whether there are the column titles of one of the tools, or lines of tcpretrans."""
    return bool(_STATES_HEAD.search(head) or _RETRANS_HEAD.search(head) or _RETRANS_ANY.search(head))


def parse(path: str) -> Trace:
    """Read retransmissions and changes of socket states: `kernel_events`, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no event with a time can be used.

    Notes
    -----
    Times of day have no date and no zone: the clock is "unknown", and counts on over midnight. A tail loss
    probe (``L>``) is a retransmission like the others.

    Reference: bcc ``tools/tcpretrans.py``, ``tools/tcpstates.py``; bpftrace ``tools/tcpretrans.bt``.
    """
    log = _Log(path)
    lines = native.Lines(path)
    for number, line in lines:
        log.line(number, line)
    issues = log.tally.issues(lines.issues)
    if not len(log.rows):
        untimed = "; record with -T" if any(issue.code == "no-timestamp" for issue in issues) else ""
        raise CorruptTrace(f"{path}: no event of tcpretrans or tcpstates with a time can be read{untimed}")
    events = log.rows.table()
    if log.of_day:
        issues.append(Issue("no-date", len(events), int(events["record"][0]), "times of day", path))
    source = Source(
        path=path,
        format="bcc",
        layer="kernel",
        records=len(events),
        clock="unknown",
        first_ns=int(events["t_ns"][0]),
        last_ns=int(events["t_ns"][-1]),
        resolution_ns=log.resolution_ns,
        details={"packets_by_kind": log.kinds, "days_passed": log.days},
    )
    issues += log.rows.disorder(path)
    return Trace(source, {"kernel_events": events}, issues, list(log.flows))


class _Log:
    def __init__(self, path: str) -> None:
        self.rows, self.tally = jsonlog.Rows(schema.KERNEL_EVENTS), jsonlog.Tally(path)
        self.flows: dict[Flow, int] = {}
        self.kinds = {"retransmissions": 0, "tail_loss_probes": 0, "state_changes": 0}
        self.of_day = False
        self.days = 0
        self.resolution_ns = 10**9
        self._columns: list[str] = []
        self._last_ns = 0

    def line(self, number: int, line: bytes) -> None:
        if not line.strip() or line.startswith((b"Tracing ", b"Attaching ", b"#")):
            return
        if _STATES_HEAD.match(line):
            self._columns = _split(line)
            return
        if _RETRANS_HEAD.match(line):
            self._columns = []
            return
        found = None if self._columns else _RETRANS.match(line)
        if found is not None:
            self._retransmission(number, found)
        elif self._columns:
            self._state(number, line)
        else:
            self.tally.add("unparsed-line", number, line[:100].decode("utf-8", "replace"))

    def _retransmission(self, number: int, found: re.Match[bytes]) -> None:
        t_ns = self._time(found["time"])
        ends = found["local"].decode(), found["remote"].decode()
        flow = fileoptions.flow(*map(_bracketed, ends))
        if t_ns is None or flow is None:
            self.tally.add("bad-number", number, found[0][:100].decode("utf-8", "replace"))
            return
        self.kinds["tail_loss_probes" if found["type"] == b"L" else "retransmissions"] += 1
        state = _NUMBERS.get(found["state"].decode(), -1)
        self._add(number, t_ns, flow, {"kind": _RETRANSMIT, "value": state, "old_value": -1})

    def _state(self, number: int, line: bytes) -> None:
        words = _split(line)
        # tcpstates prints "->" between the states, without a title
        words = [word for word in words if word != "->"]
        found = dict(zip([name for name in self._columns if name != "->"], words, strict=False))
        clock = next((found[name] for name in ("TIME", "TIME(s)") if name in found), None)
        if clock is None:
            self.tally.add("no-timestamp", number, "a line without a time")
            return
        t_ns = self._time(clock.encode())
        flow = fileoptions.flow(
            _bracketed(f"{found.get('LADDR')}:{found.get('LPORT')}"),
            _bracketed(f"{found.get('RADDR')}:{found.get('RPORT')}"),
        )
        states = [_NUMBERS.get(found.get(name, ""), -1) for name in ("OLDSTATE", "NEWSTATE")]
        if t_ns is None or flow is None or -1 in states:
            self.tally.add("unparsed-line", number, line[:100].decode("utf-8", "replace"))
            return
        self.kinds["state_changes"] += 1
        self._add(number, t_ns, flow, {"kind": _SOCK_STATE, "value": states[1], "old_value": states[0]})

    def _add(self, number: int, t_ns: int, flow: Flow, row: dict[str, int]) -> None:
        if flow not in self.flows and len(self.flows) >= _MAX_FLOWS:
            self.tally.add("unparsed-line", number, f"more than {_MAX_FLOWS} sockets")
            return
        place = self.flows.setdefault(flow, len(self.flows))
        self.rows.add({"t_ns": t_ns, "record": number, "flow": place, **row})

    def _time(self, text: bytes) -> int | None:
        """Time of day, over midnight; or seconds since the tool began."""
        parts = text.decode("ascii", "replace").split(":")
        whole, dot, decimals = parts[-1].partition(".")
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in [*parts[:-1], whole]):
            return None
        if dot and not (decimals.isascii() and decimals.isdigit()):
            return None
        if dot:
            self.resolution_ns = min(self.resolution_ns, 10 ** (9 - min(len(decimals), 9)))
        seconds = int(whole)
        if len(parts) == 3:
            self.of_day = True
            seconds += int(parts[0]) * 3600 + int(parts[1]) * 60
        t_ns = seconds * 10**9 + int(decimals[:9].ljust(9, "0") or 0)
        if len(parts) == 3:
            if t_ns + _DAY_NS * self.days < self._last_ns - _DAY_NS // 2:
                self.days += 1
            t_ns += _DAY_NS * self.days
        self._last_ns = t_ns
        return t_ns


def _split(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace")
    return [word.strip() for word in (text.split(",") if "," in text else text.split())]


def _bracketed(endpoint: str) -> str:
    host, _, port = endpoint.rpartition(":")
    return endpoint if host.startswith("[") or ":" not in host else f"[{host}]:{port}"


PARSER = Parser(
    name="bcc",
    title="tcpretrans (bcc, bpftrace) and tcpstates (bcc)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
