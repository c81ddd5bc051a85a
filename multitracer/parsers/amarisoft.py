"""Text logs of Amarisoft's base station and terminal, LTE and NR (docs/formats/amarisoft.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from multitracer import native
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_HEAD = re.compile(rb"^# time layer dir ue_id \{cell_id rnti sfn channel:\} message\r?$", re.MULTILINE)
_LINE_HEAD = re.compile(
    rb"^\d\d:\d\d:\d\d\.\d{3} \[(?:PHY|MAC|RLC|PDCP|RRC|NAS)\] (?:UL|DL|- ) ", re.MULTILINE
)
_LINE = re.compile(rb"(\d\d):(\d\d):(\d\d)\.(\d{3}) \[([A-Z0-9]{1,8})\] +(UL|DL|-) +")
_PHY = re.compile(
    rb"([0-9a-f]{1,8}) +([0-9a-f]{1,4}) +([0-9a-f]{1,8}) +\d{1,4}\.\d{1,3} +(P[DU]SCH|PUCCH|CSI): ?(.*)"
)
_RRC = re.compile(rb"(?:[0-9a-f-]{1,8} +)?(?:[0-9a-f-]{1,4} +)?[A-Z]{4}(?:-[A-Z]{2,4})*: (.{1,60})")
_WORD = re.compile(rb"(tb_len|retx|crc|snr|cqi|ri|epre)=(-?[\w.]{1,12})")
_STARTED = re.compile(rb"# Started on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_NO_TERMINAL = frozenset({b"ffff", b"fffe"})  # system information and paging
_S = 1_000_000_000
_HALF_DAY_NS = 12 * 3600 * _S
_MOST_TERMINALS = 256
_MOST_MESSAGES = 100
_LONGEST_LINE = 1 << 16


@dataclass
class _Second:
    """What one terminal had in one second."""

    number: int = -1
    t_ns: int = 0
    record: int = 0
    cell: int = -1
    blocks: dict[str, int] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)
    bits: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)


def sniff(head: bytes) -> bool:
    """Whether the header names the columns of the format, or lines have them."""
    return bool(_HEAD.search(head) or len(_LINE_HEAD.findall(head[:8192])) >= 3)


def parse(path: str) -> Trace:
    """Read `series` of the link by terminal, one row a second, from the lines of the physical layer.

    ``dl_phy_bps`` and ``ul_phy_bps`` (blocks sent for the first time), ``dl_blocks``, ``dl_harq_repeats``,
    ``dl_bler`` and the same with ``ul_``, ``ul_snr_db`` or ``dl_snr_db``, ``cqi``, ``rank``; ``cell`` where
    it changes.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no block of a terminal can be read.

    Notes
    -----
    Times are of the day, without a date or zone. Lines of MAC, RLC and PDCP are counted only: what the public
    description of the format shows of them has no lengths and no status reports.

    Reference: Amarisoft, *LTE eNodeB, NR gNB* ("Log file format"); 3GPP TS 38.212, 36.212.
    """
    scan = _Scan(path)
    lines = native.Lines(path, _LONGEST_LINE)
    for number, line in lines:
        scan.line(number, line)
    scan.finish()
    if not len(scan.values):
        raise CorruptTrace(
            f"{path}: no block of a terminal (PDSCH, PUSCH) can be read; log the physical layer with "
            'log_options: "phy.level=info"'
        )
    series = scan.values.table()
    why = "times of day without a date and zone; state clock_offset_s beside a capture"
    issues = [*scan.tally.issues(lines.issues), Issue("no-date", 1, int(series["record"][0]), why, path)]
    source = Source(
        path=path,
        format="amarisoft",
        layer="link",
        records=len(scan.values),
        clock="unknown",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=1_000_000,
        details={
            "terminals": sorted(scan.terminals)[:20],
            "lines_by_layer": dict(sorted(scan.layers.items())),
            "rrc_messages": dict(sorted(scan.messages.items())),
            **({"started": scan.started} if scan.started else {}),
        },
    )
    return Trace(source, {"series": series}, issues)


class _Scan:
    """Collects blocks by terminal and second."""

    def __init__(self, path: str) -> None:
        self.tally = jsonlog.Tally(path)
        self.values = testlog.Values(self.tally)
        self.terminals: dict[str, _Second] = {}
        self.layers: dict[str, int] = {}
        self.messages: dict[str, int] = {}
        self.started = ""
        self._day_ns, self._before_ns = 0, -1

    def line(self, number: int, line: bytes) -> None:
        """Take one line; what is indented belongs to the message above it."""
        if line[:1] in (b"", b" ", b"\t", b"#"):
            if found := _STARTED.match(line):
                self.started = found[1].decode()
            return
        head = _LINE.match(line)
        if head is None:
            self.tally.add("unparsed-line", number, line[:60].decode(errors="replace"))
            return
        hours, minutes, seconds, thousandths = (int(head[at]) for at in range(1, 5))
        if hours > 23 or minutes > 59 or seconds > 60:
            self.tally.add("bad-number", number, line[:20].decode(errors="replace"))
            return
        layer, rest = head[5].decode(), line[head.end() :]
        if layer in self.layers or len(self.layers) < _MOST_MESSAGES:
            self.layers[layer] = self.layers.get(layer, 0) + 1
        t_ns = self._time((hours * 3600 + minutes * 60 + seconds) * _S + thousandths * 1_000_000)
        if layer == "PHY" and (found := _PHY.match(rest)):
            self._block(t_ns, number, head[6], found)
        elif layer == "RRC" and (found := _RRC.match(rest)):
            name = found[1].decode(errors="replace").strip()
            if name in self.messages or len(self.messages) < _MOST_MESSAGES:
                self.messages[name] = self.messages.get(name, 0) + 1

    def _time(self, t_ns: int) -> int:
        """The time since the midnight before the first line: past the next one, times begin anew."""
        if self._before_ns - t_ns > _HALF_DAY_NS:
            self._day_ns += 24 * 3600 * _S
        self._before_ns = t_ns
        return self._day_ns + t_ns

    def _block(self, t_ns: int, number: int, direction: bytes, found: re.Match[bytes]) -> None:
        terminal, cell, rnti, channel, words = found.groups()
        if rnti in _NO_TERMINAL or direction == b"-":
            return
        name = f"UE {terminal.decode()}"
        if name not in self.terminals and len(self.terminals) >= _MOST_TERMINALS:
            return
        now = self.terminals.setdefault(name, _Second())
        if now.number != t_ns // _S:
            self._close(name, now)
            now = self.terminals[name] = _Second(t_ns // _S, cell=now.cell)
        now.t_ns, now.record = max(now.t_ns, t_ns), number
        if now.cell != int(cell, 16):
            now.cell = int(cell, 16)
            self.values.add(t_ns, number, "cell", float(now.cell), name)
        said: dict[bytes, bytes] = dict(_WORD.findall(words))
        side = "dl" if direction == b"DL" else "ul"
        if channel in (b"PDSCH", b"PUSCH") and b"tb_len" in said:
            self._transport(now, side, said)
        if (snr := _number(said.get(b"snr"))) is not None and channel in (b"PDSCH", b"PUSCH"):
            now.values.setdefault(f"{side}_snr_db", []).append(snr)
        for key, series in ((b"cqi", "cqi"), (b"ri", "rank")):
            if (value := _number(said.get(key))) is not None:
                now.values.setdefault(series, []).append(value)

    @staticmethod
    def _transport(now: _Second, side: str, said: dict[bytes, bytes]) -> None:
        """Count a transport block: sent for the first time, or as a HARQ retransmission."""
        length, retx = _number(said[b"tb_len"]), _number(said.get(b"retx"))
        if length is None or length < 0:
            return
        repeat = retx is not None and retx > 0
        counts = now.repeats if repeat else now.blocks
        counts[side] = counts.get(side, 0) + 1
        if not repeat:
            now.bits[side] = now.bits.get(side, 0) + round(length * 8)
        if b"crc" in said:
            now.checked[side] = now.checked.get(side, 0) + 1
            now.damaged[side] = now.damaged.get(side, 0) + (said[b"crc"] != b"OK")

    def _close(self, name: str, second: _Second) -> None:
        """Write out what a terminal had in a second."""
        at = (second.t_ns, second.record)
        for side in ("dl", "ul"):
            blocks, repeats = second.blocks.get(side, 0), second.repeats.get(side, 0)
            if blocks + repeats:
                self.values.add(*at, f"{side}_phy_bps", float(second.bits.get(side, 0)), name)
                self.values.add(*at, f"{side}_blocks", float(blocks), name)
                self.values.add(*at, f"{side}_harq_repeats", float(repeats), name)
            if checked := second.checked.get(side, 0):
                self.values.add(*at, f"{side}_bler", second.damaged[side] / checked, name)
        for series, values in sorted(second.values.items()):
            self.values.add(*at, series, sum(values) / len(values), name)

    def finish(self) -> None:
        """Write out the last second of every terminal."""
        for name, second in self.terminals.items():
            self._close(name, second)


def _number(text: bytes | None) -> float | None:
    if text is None or re.fullmatch(rb"-?\d{1,9}(\.\d{1,6})?", text) is None:
        return None
    return float(text)


PARSER = Parser(
    name="amarisoft",
    title="Amarisoft's base station and terminal: blocks of the physical layer (HARQ, BLER, SNR, CQI, cell)",
    layer="link",
    sniff=sniff,
    parse=parse,
)
