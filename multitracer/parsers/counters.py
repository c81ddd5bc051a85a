"""Counters of nstat, tc, ip, ethtool, iw, mmcli and softnet_stat over time (docs/formats/counters.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers.modemsignal import ModemSignals
from multitracer.parsers._helpers.stationdump import StationDump
from multitracer.parsers._helpers.testlog import Values

_STAMP = re.compile(rb"(\d{9,10})\.(\d{1,9})\s*")
_LOOP = re.compile(
    rb"\d{9,10}\.\d{1,9}[ \t]*\r?\n(\[\{|\[\]|\{\"(?:kernel|modem)\"|NIC statistics:|(?:[0-9a-f]{8} ){8}"
    rb"|(?:# iw )?Station [0-9a-f]{2}:)"
)
_COUNTS = frozenset(
    {
        "bytes",
        "packets",
        "drops",
        "overlimits",
        "requeues",
        "backlog",
        "qlen",
        "ecn_mark",
        "marked",
        "throttled",
    }
)
_LIMIT = 1 << 63
"""What a column can hold: counts, and times until 2262."""
_DRIVER = b"NIC statistics:"
_SOFTNET = re.compile(rb"[0-9a-f]{8}(?: [0-9a-f]{8}){8,30}")
# Columns of softnet_stat (Linux net/core/net-procfs.c); the twelfth came with 5.10, and the CPU after it.
_SOFTNET_COLUMNS = {"processed": 0, "dropped": 1, "time_squeeze": 2, "flow_limit": 10, "backlog": 11}
_SOFTNET_CPU = 12
_DRIVER_COUNT = re.compile(rb"([^:]{1,100}(?::[^:]{1,100})?):\s*(\d{1,20})")


def sniff(head: bytes) -> bool:
    """Whether a time stamp in seconds is followed by JSON of one of the tools."""
    return bool(_LOOP.match(head))


def parse(path: str) -> Trace:
    """Read samples of counters into `host_counters`, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no sample with a time stamp.

    Notes
    -----
    Names are nstat's for protocols (``TcpRetransSegs``), ``qdisc.<handle>.<name>`` with the words of tc for
    queueing disciplines, ``link.<interface>.<rx|tx>.<name>`` for interfaces, ``ethtool.<name>`` for what the
    driver counts (``ethtool -S``), and ``softnet.<cpu>.<name>`` for what a CPU received
    (``/proc/net/softnet_stat``; a value equal to the one before is left out). A sample holds only what its
    tool printed: nstat leaves out what is zero. Signals and rates of a Wi-Fi station (``iw``) and of a
    cellular modem (``mmcli``) are `series` of the link, in `Trace.others`; what a Wi-Fi driver counts is
    ``iw.<name>`` here.
    """
    scan = _Scan(path)
    lines = native.Lines(path)
    for number, line in lines:
        scan.line(number, line)
    issues = lines.issues + scan.issues()
    others = [
        *_of_link(path, "stations", scan.stations.values),
        *_of_link(path, "technologies", scan.modem.values),
    ]
    if not scan.t_ns and not others:
        raise CorruptTrace(f"{path}: no counter has a time stamp; print `date +%s.%N` before each sample")
    table = Table.in_time(
        schema.HOST_COUNTERS,
        {"t_ns": scan.t_ns, "record": scan.record, "name": scan.name, "value": scan.value},
    )
    times = table["t_ns"] if len(table) else others[0].tables["series"]["t_ns"]
    source = Source(
        path=path,
        format="counters",
        layer="kernel",
        records=scan.samples,
        clock="realtime",
        first_ns=int(times[0]),
        last_ns=int(times[-1]),
        details={"counters": len(set(scan.name))},
    )
    return Trace(source, {"host_counters": table}, issues, others=others)


def _of_link(path: str, what: str, values: Values) -> list[Trace]:
    """What the same samples show of the link, by its `what` (labels); nothing without values."""
    if not len(values):
        return []
    series = values.table()
    source = Source(
        path=path,
        format="counters",
        layer="link",
        records=len(series),
        clock="realtime",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        details={what: sorted(set(series["label"].tolist()))[:20]},
    )
    return [Trace(source, {"series": series})]


class _Scan:
    def __init__(self, path: str) -> None:
        self._path = path
        self._now: int | None = None
        self._bad: dict[str, tuple[int, int, str]] = {}
        self.samples = 0
        self.stations = StationDump()
        self.modem = ModemSignals()
        self._in_station = False
        self._cpu = 0
        self._softnet: dict[str, int] = {}
        self.t_ns: list[int] = []
        self.record: list[int] = []
        self.name: list[str] = []
        self.value: list[int] = []

    def line(self, number: int, line: bytes) -> None:
        text = line.strip()
        text = text.removeprefix(b"# iw ")  # as `multitracer record` writes it
        if not text or text.startswith(b"#"):
            return
        if stamp := _STAMP.fullmatch(text):
            t_ns = int(stamp[1]) * 1_000_000_000 + int(stamp[2].ljust(9, b"0"))
            self._now = t_ns if t_ns < _LIMIT else None
            if self._now is None:
                self._fault("bad-number", number, text)
                return
            self.samples += 1
            self._in_station = False
            self._cpu = 0
            return
        if self._now is None:
            self._fault("no-timestamp", number, text)
            return
        if text == _DRIVER or self.stations.begins(text):
            self._in_station = text != _DRIVER
            return
        if self._in_station and text[:1] not in (b"{", b"["):
            self._add(number, _whole("", dict(self.stations.line(self._now, number, text))))
            return
        if _SOFTNET.fullmatch(text):
            self._add(number, self._of_cpu([int(word, 16) for word in text.split()]))
            return
        if driver := _DRIVER_COUNT.fullmatch(text):
            name = f"ethtool.{driver[1].decode(errors='replace').strip()}"
            self._add(number, _whole("", {name: int(driver[2])}))
            return
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            self._fault("unparsed-line", number, text)
            return
        if self.modem.document(self._now, number, data):
            return
        found = list(_counters(data))
        if not found and data != []:
            self._fault("unparsed-line", number, text)
        self._add(number, found)

    def _add(self, number: int, found: Iterable[tuple[str, int]]) -> None:
        for name, value in found:
            self.t_ns.append(self._now or 0)
            self.record.append(number)
            self.name.append(name)
            self.value.append(value)

    def _of_cpu(self, values: list[int]) -> list[tuple[str, int]]:
        """What changed on a CPU since the sample before; without its number, lines are CPUs in order."""
        cpu = values[_SOFTNET_CPU] if len(values) > _SOFTNET_CPU else self._cpu
        self._cpu += 1
        found = {
            f"softnet.{cpu}.{name}": values[at] for name, at in _SOFTNET_COLUMNS.items() if at < len(values)
        }
        changed = [(name, value) for name, value in found.items() if self._softnet.get(name) != value]
        self._softnet.update(found)
        return changed

    def _fault(self, code: str, number: int, line: bytes) -> None:
        count, first, detail = self._bad.get(code, (0, number, line[:100].decode(errors="replace")))
        self._bad[code] = (count + 1, first, detail)

    def issues(self) -> list[Issue]:
        return [Issue(code, *found, path=self._path) for code, found in self._bad.items()]


def _counters(data: Any) -> Iterator[tuple[str, int]]:
    """Names and values in one JSON document of one of the tools."""
    if isinstance(data, dict) and isinstance(data.get("kernel"), dict):
        yield from _whole("", data["kernel"])
    elif isinstance(data, list):
        for one in data:
            if not isinstance(one, dict):
                continue
            if "kind" in one:
                prefix = f"qdisc.{one.get('handle') or one['kind']}."
                counts = {name: one[name] for name in one.keys() & _COUNTS}
                yield from _whole(prefix, dict(sorted(counts.items())))
            elif isinstance(stats := one.get("stats64") or one.get("stats"), dict) and "ifname" in one:
                for side in ("rx", "tx"):
                    if isinstance(stats.get(side), dict):
                        yield from _whole(f"link.{one['ifname']}.{side}.", stats[side])


def _whole(prefix: str, counts: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in counts.items():
        if isinstance(value, int) and not isinstance(value, bool) and -_LIMIT <= value < _LIMIT:
            yield f"{prefix}{name}"[:200], value


PARSER = Parser(
    name="counters",
    title="loops of nstat -asj, tc -s -j qdisc, ip -s -j link, ethtool, iw, mmcli with date +%s.%N",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
