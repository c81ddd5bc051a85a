"""Periodic statistics of OpenAirInterface's 5G base station, nr-softmodem (docs/formats/oai.md)."""

from __future__ import annotations

import re

from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_FRAME = re.compile(r"\[NR_MAC\].*Frame\.Slot (\d{1,4})\.(\d{1,3})\s*$")
_HEAD = re.compile(
    rb"^[^\n]*(?:UE RNTI [0-9a-f]{4} .*average RSRP -?\d|UE [0-9a-f]{4}: [du]lsch_rounds \d)", re.MULTILINE
)
_RSRP = re.compile(r"UE RNTI ([0-9a-f]{4}) .*?average RSRP (-?\d{1,4})(?: \((\d{1,6}) meas\))?")
_PH = re.compile(r"\bPH (-?\d{1,3}) dB")
_SINR = re.compile(r"average SINR (-?\d{1,3}(?:\.\d{1,3})?)")
_CQI = re.compile(r"UE ([0-9a-f]{4}): (?:CSI \[)?CQI (\d{1,2})")
_ROUNDS = re.compile(r"UE ([0-9a-f]{4}): ([du])lsch_rounds ([\d/]{1,200})")
_BLER = re.compile(r"BLER (\d{1,2}\.\d{1,9})")
_MCS = re.compile(r"\bMCS(?: \(\d\))? (\d{1,2})")
_SNR = re.compile(r"SNR (-?\d{1,3}(?:\.\d{1,3})?)\b")
_BYTES = re.compile(r"UE ([0-9a-f]{4}): (?:MAC: +)?(?:LCID (\d{1,2}): )?TX +(\d{1,18}) RX +(\d{1,18}) bytes")
_FRAMES = 1024
_FRAME_NS = 10_000_000
_MOST_TERMINALS = 256


def sniff(head: bytes) -> bool:
    """Whether there are lines of a terminal's statistics as the base station prints them."""
    return _HEAD.search(head) is not None


def parse(path: str) -> Trace:
    """Read `series` of the link by terminal (its RNTI).

    ``rsrp_dbm``, ``ul_sinr_db``, ``power_headroom_db``, ``cqi``, ``dl_mcs``, ``ul_mcs``, ``dl_bler``,
    ``ul_bler``, ``ul_snr_db``; ``dl_blocks``, ``dl_harq_repeats`` and ``ul_...`` (transport blocks since the
    statistics before); ``dl_mac_bps`` and ``ul_mac_bps``.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no statistics can be read.

    Notes
    -----
    Times are those of the frame above the statistics: they are printed every 128 frames, so that the frame's
    number, which restarts after 1,024, is unambiguous.

    Reference: OpenAirInterface ``openair2/LAYER2/NR_MAC_gNB/main.c``; 3GPP TS 38.211 4.3.1.
    """
    tally = jsonlog.Tally(path)
    values = testlog.Values(tally)
    t_ns, last_frame, turns, blocks = 0, -1, 0, 0
    counters: dict[tuple[str, str], float] = {}
    before_ns: dict[tuple[str, str], int] = {}
    terminals: set[str] = set()

    def add(number: int, rnti: str, name: str, value: float) -> None:
        if rnti in terminals or len(terminals) < _MOST_TERMINALS:
            terminals.add(rnti)
            values.add(t_ns, number, name, value, f"RNTI {rnti}")

    def grown(key: tuple[str, str], value: float) -> tuple[float, int] | None:
        """What a counter grew by, and in how many ns; None at first, or if it began anew."""
        old, since = counters.get(key), before_ns.get(key, 0)
        counters[key], before_ns[key] = value, t_ns
        return None if old is None or value < old or t_ns <= since else (value - old, t_ns - since)

    for number, line in testlog.lines(path, tally):
        if found := _FRAME.search(line):
            frame = int(found[1])
            if frame >= _FRAMES:
                tally.add("unparsed-line", number, line[:60])
                continue
            turns += frame < last_frame
            last_frame, blocks = frame, blocks + 1
            t_ns = (turns * _FRAMES + frame) * _FRAME_NS
        elif found := _RSRP.search(line):
            rnti = found[1]
            # Without a measurement since the last time, 0 is printed.
            if found[3] is None or int(found[3]) > 0:
                add(number, rnti, "rsrp_dbm", float(found[2]))
            for pattern, name in ((_PH, "power_headroom_db"), (_SINR, "ul_sinr_db")):
                if match := pattern.search(line):
                    add(number, rnti, name, float(match[1]))
        elif found := _CQI.search(line):
            add(number, found[1], "cqi", float(found[2]))
        elif found := _ROUNDS.search(line):
            rnti, link = found[1], f"{found[2]}l"
            rounds = [int(part[:15]) for part in found[3].split("/") if part]
            for name, count in (("blocks", rounds[0] if rounds else 0), ("harq_repeats", sum(rounds[1:]))):
                if (more := grown((rnti, f"{link}_{name}"), count)) is not None:
                    add(number, rnti, f"{link}_{name}", more[0])
            for pattern, name in ((_BLER, f"{link}_bler"), (_MCS, f"{link}_mcs")):
                if match := pattern.search(line):
                    add(number, rnti, name, float(match[1]))
            if link == "ul" and (match := _SNR.search(line)):
                add(number, rnti, "ul_snr_db", float(match[1]))
        elif (found := _BYTES.search(line)) and found[2] is None:
            for name, total_bytes in (("dl_mac_bps", found[3]), ("ul_mac_bps", found[4])):
                if (more := grown((found[1], name), float(total_bytes))) is not None:
                    add(number, found[1], name, more[0] * 8e9 / more[1])
    if not len(values):
        raise CorruptTrace(f"{path}: no statistics of a terminal can be read; is it cut or another format?")
    series = values.table()
    issues = tally.issues()
    why = "times since the first frame by frame numbers; state clock_offset_s beside a capture"
    if not blocks:
        why = "no frame numbers: all statistics have one time"
    issues.append(Issue("no-date", 1, int(series["record"][0]), why, path))
    source = Source(
        path=path,
        format="oai",
        layer="link",
        records=len(values),
        clock="unknown",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=_FRAME_NS,
        details={"terminals": sorted(terminals)[:20], "statistics": blocks},
    )
    return Trace(source, {"series": series}, issues)


PARSER = Parser(
    name="oai",
    title="OpenAirInterface's 5G base station: its statistics (RSRP, CQI, MCS, BLER, HARQ, MAC rate)",
    layer="link",
    sniff=sniff,
    parse=parse,
)
