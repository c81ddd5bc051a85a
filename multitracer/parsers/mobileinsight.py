"""RLC PDUs of LTE in a phone: its modem's log, or MobileInsight's XML (docs/formats/mobileinsight.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers import jsonlog, modemradio, testlog
from multitracer.parsers._helpers.bearerlog import DATA, Bearer, Bearers, Wanted, trace_of

_BEGIN = b"<dm_log_packet>"
# GPS time has no leap seconds: from when (Unix time) it is how far ahead of UTC.
_GPS_AHEAD_S = (
    (1_483_228_800, 18),
    (1_435_708_800, 17),
    (1_341_100_800, 16),
    (1_230_768_000, 15),
    (1_136_073_600, 14),
)
_COLUMNS = ("t_ns", "record", "kind", "flags", "sn", "start", "length")
_HEAD = 1 << 16
_SHOWN, _IN_ERROR = 40, 8
_ALL = -1  # in rows about all bearers
_PDUS = {"0xB082", "0xB092", "LTE_RLC_DL_AM_All_PDU", "LTE_RLC_UL_AM_All_PDU"}
_NAMES = {
    "0xB063": "MAC DL transport blocks",
    "0xB064": "MAC UL transport blocks",
    "0xB081": "RLC DL configuration",
    "0xB082": "RLC DL AM PDUs",
    "0xB087": "RLC DL statistics",
    "0xB091": "RLC UL configuration",
    "0xB092": "RLC UL AM PDUs",
    "0xB097": "RLC UL statistics",
    "0xB0A3": "PDCP DL data",
    "0xB0B3": "PDCP UL data",
    "0xB0C0": "RRC",
    "0xB0C1": "RRC MIB",
    "0xB0C2": "serving cell",
    "0xB0E2": "NAS ESM in",
    "0xB0E3": "NAS ESM out",
    "0xB0EC": "NAS EMM in",
    "0xB0ED": "NAS EMM out",
    "0xB193": "serving cell measurements",
    "0xB821": "NR RRC",
}


def sniff(head: bytes) -> bool:
    """Whether these are messages that MobileInsight exported, or frames of a modem's own log."""
    # PPP frames have the same flags and checksum.
    return _is_xml(head) or (native.sniff_diag(head) and not native.sniff_pppd(head))


def parse(path: str) -> Trace:
    """Read the busiest bearer in acknowledged mode, and cells and their measurements over time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If neither is in it.

    Notes
    -----
    What the phone sends is a "snd" row, what it receives a "rcv" row: a PDU of the downlink that was lost on
    the air is not in the log. A message lists PDUs of many subframes, and is written some milliseconds after
    the last of them: PDUs are placed by their frame numbers.

    Reference: MobileInsight, messages LTE_RLC_UL_AM_All_PDU (0xB092) and LTE_RLC_DL_AM_All_PDU (0xB082); 3GPP
    TS 36.322.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, of ``bearer = "rb3"`` (index of its configuration) or of a second SIM card (``ue = 1``)."""
    wanted = Wanted.of(path, {"seen_at": "ue", **settings})
    xml = _is_xml(native.head(path, _HEAD))
    scan = native.read_diag(path, xml=xml)
    messages = scan.facts["messages"]
    found = _bearers(scan.tables["pdus"])
    tally = jsonlog.Tally(path)
    radio = testlog.Values() if xml else modemradio.series(path, tally)
    if found:
        trace = trace_of(path, "mobileinsight", "lte", max(scan.facts["sn_bits"].values()), found, wanted)
        if len(radio):
            trace.tables["series"] = radio.table()
    elif len(radio):
        trace = _of_radio(path, radio)
    else:
        raise CorruptTrace(f"{path}: no RLC PDU in it; {_missing(messages, scan.issues)}")
    trace.issues += tally.issues()
    ahead_s = _gps_ahead_s(trace.source.first_ns or 0)
    if ahead_s:
        trace.source.details["gps_time_is_ahead_s"] = ahead_s
    trace.source.details["messages"] = {_named(name): messages[name] for name in _most(messages)}
    trace.issues += scan.issues
    return trace


def _of_radio(path: str, radio: testlog.Values) -> Trace:
    """A log without PDUs: cells and measurements alone."""
    series = radio.table()
    source = Source(
        path=path,
        format="mobileinsight",
        layer="link",
        records=len(radio),
        clock="realtime",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=1_000_000,
        details={"radio": "lte"},
    )
    return Trace(source, {"series": series}, [])


def _bearers(pdus: Mapping[str, Array]) -> Bearers:
    """Rows by subscription and bearer; what RRC messages report is in each."""
    found: Bearers = {}
    keys = np.stack([pdus["ue"], pdus["bearer"]])
    for ue, index in np.unique(keys, axis=1).T.tolist():
        if index == _ALL:
            continue
        mine = (pdus["ue"] == ue) & ((pdus["bearer"] == index) | (pdus["bearer"] == _ALL))
        columns = {name: pdus[name][mine].astype(np.int64) for name in _COLUMNS}
        carried = int(columns["length"][columns["kind"] == DATA].sum())
        found[ue, f"rb{index}"] = Bearer(list(columns.values()), bytes=carried)
    return found


def _gps_ahead_s(t_ns: int) -> int:
    """How far ahead of UTC such a clock is if it keeps GPS time; 0 where no network of LTE was on the air."""
    return next((ahead for since, ahead in _GPS_AHEAD_S if t_ns >= since * 10**9), 0)


def _missing(messages: Mapping[str, int], issues: list[Issue]) -> str:
    """What to do about a log without PDUs."""
    for issue in issues:
        if _PDUS & messages.keys() and issue.code in ("unknown-message", "bad-message"):
            return f"{issue.detail}; {issue.kind.advice}"
    has = ", ".join(_named(name) for name in _most(messages)[:_IN_ERROR]) or "no message"
    return f"log LTE_RLC_UL_AM_All_PDU and LTE_RLC_DL_AM_All_PDU (0xB092, 0xB082); it has {has}"


def _most(messages: Mapping[str, int]) -> list[str]:
    return sorted(messages, key=lambda name: (-messages[name], name))[:_SHOWN]


def _named(message: str) -> str:
    return f"{message} ({_NAMES[message]})" if message in _NAMES else message


def _is_xml(head: bytes) -> bool:
    return head.lstrip().startswith(_BEGIN)


PARSER = Parser(
    name="mobileinsight",
    title="RLC PDUs, cells, RSRP of a phone in LTE: a modem's log (.mi2log, .qmdl), MobileInsight's XML",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
