"""Logs of a phone's modem, written: the binary messages of RLC, and MobileInsight's XML of the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from multitracer.model.trace import Trace

GPS_EPOCH_NS = 315_964_800 * 10**9
SUBFRAME_NS = 10**6
PER_MESSAGE = 6
TICKS = 52_428_800
_ENABLED = 0xFE


@dataclass(frozen=True)
class Pdu:
    """A PDU of the uplink or the downlink of one bearer, as the phone has it.

    Attributes
    ----------
    start, last
        Of a segment; `start` is -1 for a whole PDU.
    nacks
        Of a status report: `sn` is its ACK_SN then, and `length` has no meaning.
    """

    t_ns: int
    uplink: bool
    sn: int
    length: int = 0
    start: int = -1
    last: bool = True
    poll: bool = False
    nacks: tuple[int, ...] | None = None
    lengths: int = 0
    bearer: int = 3

    @property
    def subframe(self) -> int:
        """Number of its subframe."""
        return self.t_ns // SUBFRAME_NS % 10_240

    def header(self) -> bytes:
        """As 3GPP TS 36.322 has it, with numbers of 10 bits."""
        if self.nacks is not None:
            return _status(self.sn, self.nacks)
        bits = f"1{self.start >= 0:b}{self.poll:b}00{self.lengths > 0:b}{self.sn:010b}"
        if self.start >= 0:
            bits += f"{self.last:b}{self.start:015b}"
        for at in range(self.lengths):
            bits += f"{at + 1 < self.lengths:b}{9:011b}"
        return _packed(bits)


def _status(ack: int, nacks: Sequence[int]) -> bytes:
    bits = f"0000{ack:010b}{bool(nacks):b}"
    for at, sn in enumerate(nacks):
        bits += f"{sn:010b}{at + 1 < len(nacks):b}0"
    return _packed(bits)


def _packed(bits: str) -> bytes:
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def messages(pdus: Sequence[Pdu]) -> Iterator[tuple[int, list[Pdu]]]:
    """PDUs of one bearer and direction, and when the modem writes them: a while after the last one."""
    waiting: dict[tuple[bool, int], list[Pdu]] = {}
    done = []
    for pdu in sorted(pdus, key=lambda one: one.t_ns):
        mine = waiting.setdefault((pdu.uplink, pdu.bearer), [])
        mine.append(pdu)
        if len(mine) == PER_MESSAGE:
            done.append(waiting.pop((pdu.uplink, pdu.bearer)))
    done += waiting.values()
    written = []
    for at, group in enumerate(done):
        # Uplink PDUs are told before they are on the air; every fifth message of the downlink is in time.
        lag_ms = -5 if group[0].uplink else at % 5 * 4
        written.append((group[-1].t_ns // SUBFRAME_NS * SUBFRAME_NS + lag_ms * SUBFRAME_NS, group))
    yield from sorted(written, key=lambda one: one[0])


def crc(data: bytes) -> int:
    """CRC-16/X.25."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x8408 if value & 1 else 0)
    return value ^ 0xFFFF


def framed(content: bytes) -> bytes:
    """A frame of the diagnostic protocol."""
    whole = content + crc(content).to_bytes(2, "little")
    return whole.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e") + b"\x7e"


def packet(code: int, t_ns: int, body: bytes) -> bytes:
    """A log packet."""
    size = (12 + len(body)).to_bytes(2, "little")
    return b"\x10\0" + size + size + code.to_bytes(2, "little") + _ticks(t_ns).to_bytes(8, "little") + body


def _ticks(t_ns: int) -> int:
    return -(-(t_ns - GPS_EPOCH_NS) * TICKS // 10**9)


def binary(pdus: Sequence[Pdu], wrapper: bytes = b"") -> bytes:
    """The modem's own log."""
    found = []
    for t_ns, group in messages(pdus):
        up = group[0].uplink
        inner = bytes([group[0].bearer, 1, 10, 0]) + _ENABLED.to_bytes(2, "little") + bytes(12 if up else 8)
        inner += len(group).to_bytes(2, "little")
        for pdu in group:
            header = pdu.header()
            place = pdu.subframe // 10 << 4 | pdu.subframe % 10
            size = len(header) + (pdu.length if pdu.nacks is None else 0)
            inner += (
                b"".join(one.to_bytes(2, "little") for one in (place, size, len(header))) + b"\0" + header
            )
        inner += bytes(-len(inner) % 4)
        head = bytes([1, 1, 0, 0, 70 if up else 65, 3]) + (len(inner) + 4).to_bytes(2, "little")
        found.append(framed(wrapper + packet(0xB092 if up else 0xB082, t_ns, head + inner)))
    return b"".join(found)


def pair(key: str, value: object) -> str:
    """A field of the XML."""
    return f'<pair key="{key}">{value}</pair>'


def nested(key: str, items: Sequence[str]) -> str:
    """A list of dictionaries."""
    rows = "".join(f'<item type="dict"><dict>{item}</dict></item>' for item in items)
    return f'<pair key="{key}" type="list"><list>{rows}</list></pair>'


def xml(pdus: Sequence[Pdu]) -> str:
    """MobileInsight's export of the same."""
    found = []
    for t_ns, group in messages(pdus):
        way = "UL" if group[0].uplink else "DL"
        micros = _ticks(t_ns) * 10**6 // TICKS
        when = datetime(1980, 1, 6, tzinfo=UTC) + timedelta(microseconds=micros)
        body = pair("RB Cfg Idx", group[0].bearer) + pair("RB Mode", "AM") + pair("SN Length", 10)
        body += nested(f"RLC{way} PDUs", [_fields(way, pdu) for pdu in group])
        head = pair("log_msg_len", 9) + pair("type_id", f"LTE_RLC_{way}_AM_All_PDU")
        head += pair(
            "timestamp",
            when.strftime("%Y-%m-%d %H:%M:%S") + (f".{micros % 10**6:06d}" * bool(micros % 10**6)),
        )
        found.append(f"<dm_log_packet>{head}{nested('Subpackets', [body])}</dm_log_packet>\n")
    return "".join(found)


def _fields(way: str, pdu: Pdu) -> str:
    size = len(pdu.header())
    text = pair("sys_fn", pdu.subframe // 10) + pair("sub_fn", pdu.subframe % 10)
    if pdu.nacks is not None:
        text = (
            pair("PDU TYPE", f"RLC{way} CTRL") + text + pair("pdu_bytes", size) + pair("logged_bytes", size)
        )
        listed = nested("RLC CTRL NACK", [pair("NACK_SN", sn) for sn in pdu.nacks]) if pdu.nacks else ""
        return text + pair("SN", f"ACK_SN = {pdu.sn}") + pair("cpt", "STATUS(0)") + listed
    text = pair("PDU TYPE", f"RLC{way} DATA") + text + pair("pdu_bytes", size + pdu.length)
    text += pair("logged_bytes", size) + pair("SN", pdu.sn) + pair("RF", int(pdu.start >= 0))
    text += pair("P", int(pdu.poll)) + pair("FI", "00") + pair("E", int(pdu.lengths > 0))
    if pdu.start >= 0:
        text += pair("LSF", int(pdu.last)) + pair("SO", pdu.start)
    return text + (nested("RLC DATA LI", [pair("LI", 9)] * pdu.lengths) if pdu.lengths else "")


def of_capture(trace: Trace, shift_ns: int = 0) -> list[Pdu]:
    """What the terminal's modem logs of a bearer, by a capture of what both ends sent and received."""
    found = []
    pdus, frames = trace.tables["rlc_pdus"], trace.tables["link_frames"]
    data = pdus.where(pdus["kind"] == pdus.code("kind", "data"))
    names = ("t_ns", "entity", "action", "length", "start", "part", "last", "poll")
    for row in zip(frames["ns"].tolist(), *(data[name].tolist() for name in names), strict=True):
        sn, t_ns, entity, action, length, start, part, last, poll = row
        if entity == 0:
            place = start if part else -1
            found.append(Pdu(t_ns + shift_ns, action == 0, sn, length, place, bool(last), bool(poll)))
    events = trace.tables["link_events"]
    names = ("t_ns", "entity", "action", "nr")
    for kind, *row in zip(events.words("kind"), *(events[name].tolist() for name in names), strict=True):
        t_ns, entity, action, nr = row
        if entity != 0:
            continue
        if kind == "RR":
            found.append(Pdu(t_ns + shift_ns, action == 0, nr, nacks=()))
        elif kind == "SREJ":
            found[-1] = replace(found[-1], nacks=(*(found[-1].nacks or ()), nr))
    return found
