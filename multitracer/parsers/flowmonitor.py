"""FlowMonitor of ns-3: totals of flows as XML (docs/formats/flowmonitor.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Source, Trace
from multitracer.parsers._helpers.jsonlog import Tally

_ROOT = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<FlowMonitor>")
_TIME = re.compile(r"\+?(\d{1,19})(?:\.(\d{1,19}))?(?:e\+?(\d{1,2}))?(s|ms|us|ns)?")
_UNITS = {"s": 9, "ms": 6, "us": 3, "ns": 0, None: 0}
_MAX_FLOWS = 1 << 20
_LONGEST_LINE = 1 << 20
_LONGEST_TAG = 4 << 20
_DEEPEST = 64
_DEFAULT_DIGITS = 6
_SECTION = 2  # probes hold elements called FlowStats, too, below the section of that name
_UNKNOWN = Flow("", 0, "", 0)

_NUMBERS = {
    "tx_packets": "txPackets",
    "tx_bytes": "txBytes",
    "rx_packets": "rxPackets",
    "rx_bytes": "rxBytes",
    "lost_packets": "lostPackets",
    "forwarded": "timesForwarded",
}
_TIMES = {
    "t_ns": "timeFirstTxPacket",
    "last_tx_ns": "timeLastTxPacket",
    "first_rx_ns": "timeFirstRxPacket",
    "last_rx_ns": "timeLastRxPacket",
    "delay_sum_ns": "delaySum",
    "jitter_sum_ns": "jitterSum",
}


def sniff(head: bytes) -> bool:
    """Whether the document's root is that of a FlowMonitor."""
    return _ROOT.match(head) is not None


def parse(path: str) -> Trace:
    """Read the totals of all flows: `flow_totals`, a row for each.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it has no whole flow, or declares a document type (entities could grow without bound).

    Reference: ns-3 ``src/flow-monitor/model/flow-monitor.cc``, ``ipv4-flow-classifier.cc``.
    """
    document = _Document(path)
    lines = native.Lines(path, _LONGEST_LINE)
    for number, line in lines:
        if not document.line(number, line):
            break
    document.end(cut=any(issue.code == "truncated-file" for issue in lines.issues))
    if not document.rows:
        raise CorruptTrace(f"{path}: no flow of a FlowMonitor can be read; is it cut or another format?")
    issues = [*document.tally.issues(lines.issues)]
    count = len(document.rows)
    columns: dict[str, Any] = {
        name: np.array([row.get(name, -1) for row in document.rows], dtype=np.int64)
        for name in document.rows[0]
    }
    flows = [document.ends.get(row["number"], (_UNKNOWN, -1)) for row in document.rows]
    columns["flow"] = np.arange(count)
    columns["protocol"] = np.array([protocol for _, protocol in flows])
    columns["t_ns"] = np.maximum(columns["t_ns"], 0)
    totals = Table.filled(schema.FLOW_TOTALS, count, columns).sorted_by("t_ns")
    last = max(int(totals[name].max()) for name in ("t_ns", "last_tx_ns", "first_rx_ns", "last_rx_ns"))
    source = Source(
        path=path,
        format="flowmonitor",
        layer="kernel",
        records=count,
        clock="simulation",
        first_ns=int(totals["t_ns"][0]),
        last_ns=last,
        resolution_ns=10 ** max(0, len(str(last)) - document.digits),
        details={
            "tx_packets": int(np.maximum(totals["tx_packets"], 0).sum()),
            "rx_packets": int(np.maximum(totals["rx_packets"], 0).sum()),
            "lost_packets": int(np.maximum(totals["lost_packets"], 0).sum()),
            "drops_by_reason": document.reasons,
            "flows_without_addresses": sum(flow is _UNKNOWN for flow, _ in flows),
        },
    )
    return Trace(source, {"flow_totals": totals}, issues, [flow for flow, _ in flows])


class _Document:
    """The content of the elements, one after the other: nothing else of the document is kept."""

    def __init__(self, path: str) -> None:
        self.tally = Tally(path)
        self.rows: list[dict[str, int]] = []
        self.ends: dict[int, tuple[Flow, int]] = {}
        self.reasons: dict[str, int] = {}
        self.digits = _DEFAULT_DIGITS
        self._path, self._number, self._fed, self._whole = path, 0, 0, False
        self._depth, self._section = 0, ""
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._close
        self._parser.StartDoctypeDeclHandler = self._refuse

    def line(self, number: int, line: bytes) -> bool:
        """Take a line; False where the document breaks."""
        self._number, self._fed = number, self._fed + len(line) + 1
        try:
            self._parser.Parse(line + b"\n", False)
            if self._fed - self._parser.CurrentByteIndex > _LONGEST_TAG:
                raise ValueError(f"a tag of more than {_LONGEST_TAG >> 20} MiB")
        except (expat.ExpatError, ValueError) as error:
            self.tally.add("bad-record", number, str(error))
            self._whole = True
            return False
        return True

    def end(self, cut: bool) -> None:
        """The file is over; report it if the document is not."""
        if not self._whole and not cut and self._number:
            self.tally.add("truncated-file", self._number, "the document has no end")

    def _refuse(self, name: str, *_: Any) -> None:
        raise CorruptTrace(
            f"{self._path}: line {self._number} declares the document type {name[:40]!r}, which ns-3 never "
            "does; it is not read, as its entities could grow without bound"
        )

    def _begin(self, name: str, found: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError(f"elements nest more than {_DEEPEST} deep")
        if self._depth == _SECTION:
            self._section = name
        elif name == "Flow" and self._section == "FlowStats":
            self._stats(found)
        elif name == "Flow":
            self._addresses(found)
        elif name == "packetsDropped" and self._section == "FlowStats" and self.rows:
            count = _whole(found.get("number"))
            if count > 0:
                row = self.rows[-1]
                row["dropped_packets"] += count
                reason = found.get("reasonCode", "")[:20]
                if reason in self.reasons or len(self.reasons) < 100:
                    self.reasons[reason] = self.reasons.get(reason, 0) + count

    def _close(self, name: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._whole = True

    def _stats(self, found: Mapping[str, str]) -> None:
        number = _whole(found.get("flowId"))
        row = {name: _whole(found.get(key)) for name, key in _NUMBERS.items()}
        for name, key in _TIMES.items():
            row[name], digits = _time(found.get(key))
            self.digits = max(self.digits, digits)
        if number < 0 or row["tx_packets"] < 0 or row["t_ns"] < 0:
            self.tally.add("bad-number", self._number, f"flow {found.get('flowId', '')[:40]}")
        elif len(self.rows) >= _MAX_FLOWS:
            self.tally.add("unparsed-line", self._number, f"more than {_MAX_FLOWS} flows")
        else:
            self.rows.append({**row, "number": number, "record": self._number, "dropped_packets": 0})

    def _addresses(self, found: Mapping[str, str]) -> None:
        from multitracer.model.fileoptions import flow

        number, protocol = _whole(found.get("flowId")), _whole(found.get("protocol"))
        ends = [
            f"[{found.get(f'{end}Address', '')}]:{found.get(f'{end}Port', '')}"
            for end in ("source", "destination")
        ]
        socket = flow(*ends)
        if number < 0 or socket is None:
            self.tally.add("bad-number", self._number, f"flow {found.get('flowId', '')[:40]}")
        elif len(self.ends) < _MAX_FLOWS:
            self.ends[number] = (socket, protocol if protocol < 256 else -1)


def _whole(text: str | None) -> int:
    """A number that is not negative; -1 for anything else."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 18:
        return -1
    return int(text)


def _time(text: str | None) -> tuple[int, int]:
    """A time as ``ns3::Time`` prints it in nanoseconds, and its significant digits; -1 if it is none."""
    found = _TIME.fullmatch(text or "")
    if found is None:
        return -1, 0
    whole, decimals, exponent, unit = found.groups()
    digits = whole + (decimals or "")
    shift = _UNITS[unit] + int(exponent or 0) - len(decimals or "")
    value = int(digits) * 10**shift if shift >= 0 else round(int(digits) / 10**-shift)
    return (value, len(digits.lstrip("0"))) if value < 1 << 62 else (-1, 0)


PARSER = Parser(
    name="flowmonitor",
    title="ns-3 FlowMonitor: totals of flows (SerializeToXmlFile)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
