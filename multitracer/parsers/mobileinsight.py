"""MobileInsight's XML export: RLC PDUs of LTE as modems log them (docs/formats/mobileinsight.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from multitracer import native
from multitracer.errors import CorruptTrace, Issue
from multitracer.link.bearerlog import LAST, PART, POLL, UPLINK, Bearer, Bearers, Wanted, trace_of
from multitracer.registry import Parser
from multitracer.trace import Trace

_BEGIN, _END = b"<dm_log_packet>", b"</dm_log_packet>"
_KIND = re.compile(rb'<pair key="type_id">LTE_RLC_(UL|DL)_AM_All_PDU</pair>')
_LARGEST = 1 << 22
_LONGEST_LINE = 1 << 22
_FRAMES = 10_240  # subframes after which the frame number begins again
_SUBFRAME_NS = 1_000_000
_DIGITS = re.compile(r"\d{1,9}")
_FLAG, _ESCAPE, _GOOD_CRC = 0x7E, 0x7D, 0xF0B8
_FRAMES_TRIED, _LONGEST_FRAME, _CHECKSUM_BYTES = 16, 4096, 2


def sniff(head: bytes) -> bool:
    """Whether these are exported messages, or the modem's binary log, which has to be exported first."""
    # PPP frames have the same flags and checksum.
    return head.lstrip().startswith(_BEGIN) or (_is_binary(head) and not native.sniff_pppd(head))


def parse(path: str) -> Trace:
    """Read the busiest bearer in acknowledged mode.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it is the binary log, or no RLC PDU is in it.

    Notes
    -----
    A message lists PDUs of many subframes, and bears the time of the last: the others are placed by their
    frame numbers.

    Reference: MobileInsight, messages LTE_RLC_UL_AM_All_PDU and LTE_RLC_DL_AM_All_PDU; 3GPP TS 36.322.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, of a certain ``bearer = "rb3"`` (index of its configuration); ``seen_at = "ue"``."""
    wanted = Wanted.of(path, settings)
    if _is_binary(native.head(path, 1 << 16)):
        raise CorruptTrace(
            f"{path}: a binary log of a Qualcomm modem, whose messages differ by chipset; export it with "
            "MobileInsight (OfflineReplayer, then MsgLogger with set_decode_format(MsgLogger.XML) and "
            "save_decoded_msg_as), and read the XML"
        )
    found: Bearers = {}
    lines = native.Lines(path, _LONGEST_LINE)
    damaged = Issue("unparsed-line", 0, path=path)
    sn_bits = 10
    for record, message in _messages(lines):
        kind = _KIND.search(message)
        if kind is None:
            continue
        try:
            sn_bits = max(sn_bits, _take(found, record, kind[1] == b"UL", ElementTree.fromstring(message)))
        except (ElementTree.ParseError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            first = damaged.first_record or record
            detail = "a message that is no well-formed XML, or lacks fields"
            damaged = Issue("unparsed-line", damaged.count + 1, first, detail, path)
    trace = trace_of(path, "mobileinsight", "lte", sn_bits, found, wanted)
    trace.issues += lines.issues + ([damaged] if damaged.count else [])
    return trace


def _messages(lines: native.Lines) -> Iterator[tuple[int, bytes]]:
    """Messages with the line on which each begins; one of absurd size is left out."""
    parts: list[bytes] = []
    size = begun = 0
    for record, line in lines:
        rest = line
        while True:
            if not parts:
                at = rest.find(_BEGIN)
                if at < 0:
                    break
                rest, begun, size = rest[at:], record, 0
            end = rest.find(_END)
            part = rest if end < 0 else rest[: end + len(_END)]
            parts.append(part)
            size += len(part)
            if end < 0:
                break
            yield begun, b"\n".join(parts)
            parts, rest = [], rest[end + len(_END) :]
        if size > _LARGEST:
            parts = []


def _take(found: Bearers, record: int, uplink: bool, message: ElementTree.Element) -> int:
    """Take the PDUs of a message; the bits of its sequence numbers."""
    fields = {str(pair.get("key")): _value(pair) for pair in message}
    when = datetime.fromisoformat(str(fields["timestamp"])).replace(tzinfo=UTC)
    t_ns = (int(when.timestamp()) * 10**6 + when.microsecond) * 1000
    sn_bits = 10
    for subpacket in _dicts(fields["Subpackets"]):
        index = subpacket.get("RB Cfg Idx", subpacket.get("RB Cfg Index"))
        name = f"rb{_number(index)}"
        sn_bits = 16 if _number(subpacket.get("SN Length", "10")) == 16 else sn_bits
        pdus = _dicts(subpacket["RLCUL PDUs" if uplink else "RLCDL PDUs"])
        if not pdus:
            continue
        last = _frame(pdus[-1])
        bearer = found.setdefault((0, name), Bearer())
        for pdu in pdus:
            at_ns = t_ns - (last - _frame(pdu)) % _FRAMES * _SUBFRAME_NS
            _pdu(bearer, at_ns, record, uplink, pdu)
    return sn_bits


def _pdu(bearer: Bearer, t_ns: int, record: int, uplink: bool, pdu: Mapping[str, Any]) -> None:
    flags = UPLINK if uplink else 0
    if "CTRL" in str(pdu["PDU TYPE"]):
        nacks = [_number(nack["NACK_SN"]) for nack in _dicts(pdu.get("RLC CTRL NACK", []))]
        bearer.status(t_ns, record, flags, _number(pdu.get("ACK_SN", pdu.get("SN"))), nacks)
        return
    part = pdu.get("RF") == "1"
    start = _number(pdu["SO"]) if part and "SO" in pdu else 0
    lengths = len(_dicts(pdu.get("RLC DATA LI", [])))
    header = 2 + (2 if part else 0) + (3 * lengths + 1) // 2
    flags |= (POLL if pdu.get("P") == "1" else 0) | (PART if part else 0)
    flags |= LAST if not part or pdu.get("LSF") in ("1", "128") else 0
    bearer.data(t_ns, record, flags, _number(pdu["SN"]), start, max(_number(pdu["pdu_bytes"]) - header, 0))


def _frame(pdu: Mapping[str, Any]) -> int:
    return _number(pdu["sys_fn"]) * 10 + _number(pdu["sub_fn"])


def _value(element: ElementTree.Element) -> Any:
    """Text, a list, or a dictionary, as the element says."""
    kind = element.get("type")
    if kind == "list":
        return [_value(item) for item in _inner(element, "list")]
    if kind == "dict":
        return {str(pair.get("key")): _value(pair) for pair in _inner(element, "dict")}
    return (element.text or "").strip()


def _inner(element: ElementTree.Element, name: str) -> ElementTree.Element:
    found = element.find(name)
    if found is None:
        raise KeyError(name)
    return found


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    """A number, alone or behind words (``ACK_SN = 7``)."""
    found = _DIGITS.findall(str(value))
    if not found:
        raise ValueError(value)
    return int(found[-1])


def _is_binary(head: bytes) -> bool:
    """Whether frames of Qualcomm's diagnostic protocol with right checksums are among the first."""
    begin = good = 0
    for _ in range(_FRAMES_TRIED):
        end = head.find(_FLAG, begin)
        if end < 0:
            return False
        frame = _unescaped(head[begin : min(end, begin + _LONGEST_FRAME)])
        good += len(frame) > _CHECKSUM_BYTES and _crc(frame) == _GOOD_CRC
        if good > 1:
            return True
        begin = end + 1
    return False


def _unescaped(data: bytes) -> bytes:
    out, escaped = bytearray(), False
    for byte in data:
        if escaped:
            out.append(byte ^ 0x20)
        elif byte != _ESCAPE:
            out.append(byte)
        escaped = byte == _ESCAPE and not escaped
    return bytes(out)


def _crc(data: bytes) -> int:
    """CRC-16/X.25 before the final inversion: the same of every frame with a right checksum (RFC 1662)."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return crc


PARSER = Parser(
    name="mobileinsight",
    title="MobileInsight's XML export: RLC PDUs of LTE in a phone",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
