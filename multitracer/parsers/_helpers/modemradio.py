"""What a phone's modem logs of its cell: which one serves it, and how well it is received."""

from __future__ import annotations

import binascii
import re
import struct
from collections.abc import Iterator

from multitracer import native
from multitracer.parsers._helpers import jsonlog, testlog

_LOG_PACKET, _OF_A_CARD = 0x10, 0x98
_CARD_BYTES = 8
_SERVING_CELL, _MEASURED = 0xB0C2, 0xB193
_CODES = (_SERVING_CELL, _MEASURED)
_MEASUREMENT = 25
"""The part of a message of measurements that holds those of the serving cell."""
_TICKS_PER_S, _GPS_EPOCH_S = 52_428_800, 315_964_800
_SHORTEST = 18
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_PLAUSIBLE_DBM, _HIGHEST_DB = (-160.0, -20.0), 10.0
_ESCAPED = re.compile(rb"\x7d(.)", re.DOTALL)

# Of a measurement, by its version: where RSRP and RSRQ are, and by how many bits they are shifted.
_LAYOUTS = {19: ((32, 12), (40, 20)), 36: ((40, 0), (52, 0))}
_CHANNEL_AT, _CELL_AT = 0, 8


def series(path: str, tally: jsonlog.Tally) -> testlog.Values:
    """Serving cell and its measurements of a modem's binary log; `record` is the number of the frame, from 1.

    ``pci`` and ``earfcn`` where they change (a handover, another cell chosen), ``rsrp_dbm`` and ``rsrq_db``.
    Of a second SIM card, `label` names it. A file beyond the limit of documents gives none.

    Reference: MobileInsight, messages LTE_RRC_Serv_Cell_Info (0xB0C2) and LTE_PHY_Serv_Cell_Measurement
    (0xB193); 3GPP TS 36.214 5.1.1, 5.1.3.
    """
    values = testlog.Values()
    limit = jsonlog.most_bytes() or jsonlog.LIMIT_BYTES
    content = native.head(path, limit + 1)
    if len(content) > limit:
        return values
    cells: dict[str, tuple[int, int]] = {}
    for record, label, code, t_ns, body in _messages(content):
        if code == _SERVING_CELL:
            cell, found = _cell(body), list[tuple[str, float]]()
            if cell is None:
                tally.add("unknown-message", record, f"message 0x{code:04X} of version {body[0]}")
        else:
            cell, found, unknown = _measured(body)
            if unknown is not None:
                tally.add("unknown-message", record, f"measurement of the serving cell of version {unknown}")
        if cell is not None and cells.get(label) != cell:
            cells[label] = cell
            found = [("pci", float(cell[0])), ("earfcn", float(cell[1])), *found]
        for name, value in found:
            values.add(t_ns, record, name, value, label)
    return values


def _messages(content: bytes) -> Iterator[tuple[int, str, int, int, bytes]]:
    """Number of the frame, SIM card, code, time and body of each message of the kinds that are read."""
    for record, frame in enumerate(content.split(b"\x7e"), 1):
        if len(frame) < _SHORTEST:
            continue
        # A code is seldom escaped, so most frames are left here without a copy.
        begin = _CARD_BYTES if frame[0] == _OF_A_CARD else 0
        plain = frame if b"\x7d" not in frame[: begin + 8] else _ESCAPED.sub(_unescaped, frame)
        if len(plain) < begin + _SHORTEST or plain[begin] != _LOG_PACKET:
            continue
        if struct.unpack_from("<H", plain, begin + 6)[0] not in _CODES:
            continue
        if plain is frame and b"\x7d" in frame:
            plain = _ESCAPED.sub(_unescaped, frame)
        if not _whole(plain) or len(plain) < begin + _SHORTEST + 1:
            continue
        card = struct.unpack_from("<I", plain, 4)[0] if begin else 1
        code, ticks = struct.unpack_from("<HQ", plain, begin + 6)
        t_ns = (ticks * 10**9) // _TICKS_PER_S + _GPS_EPOCH_S * 10**9
        if t_ns < 1 << 62:
            yield record, "" if card <= 1 else f"SIM {card}", code, t_ns, plain[begin + 16 : -2]


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes([found[1][0] ^ 0x20])


def _whole(frame: bytes) -> bool:
    """Whether its checksum is right (CRC-16/X.25: the polynomial of CCITT, bits mirrored)."""
    found = binascii.crc_hqx(frame[:-2].translate(_MIRRORED), 0xFFFF)
    return int(f"{found:016b}"[::-1], 2) ^ 0xFFFF == int.from_bytes(frame[-2:], "little")


def _cell(body: bytes) -> tuple[int, int] | None:
    """Physical cell and channel of the downlink; None of an unknown version, or cut."""
    form = {2: "<HH", 3: "<HI"}.get(body[0])
    if form is None or len(body) < 1 + struct.calcsize(form):
        return None
    cell, channel = struct.unpack_from(form, body, 1)
    return cell, channel


def _measured(body: bytes) -> tuple[tuple[int, int] | None, list[tuple[str, float]], int | None]:
    """Cell and values of the primary carrier in a message; the version of a part that is not known."""
    at = 4
    for _ in range(body[1] if len(body) > 1 and body[0] == 1 else 0):
        if len(body) < at + 4:
            break
        kind, version, size = struct.unpack_from("<BBH", body, at)
        part = body[at + 4 : at + size]
        at += max(size, 4)
        if kind != _MEASUREMENT:
            continue
        if version not in _LAYOUTS:
            return None, [], version
        rsrp, rsrq = _LAYOUTS[version]
        if len(part) < max(rsrp[0], rsrq[0]) + 4:
            continue
        cell = struct.unpack_from("<H", part, _CELL_AT)[0]
        if cell >> 9 & 7 or not cell >> 12 & 1:
            continue  # of a secondary carrier, or a neighbour
        found = []
        dbm = (struct.unpack_from("<I", part, rsrp[0])[0] >> rsrp[1] & 0xFFF) / 16 - 180
        if _PLAUSIBLE_DBM[0] <= dbm <= _PLAUSIBLE_DBM[1]:
            found.append(("rsrp_dbm", dbm))
        # Where none was measured, it is 0.
        steps = struct.unpack_from("<I", part, rsrq[0])[0] >> rsrq[1] & 0x3FF
        if steps and steps / 16 - 30 <= _HIGHEST_DB:
            found.append(("rsrq_db", steps / 16 - 30))
        return (cell & 0x1FF, struct.unpack_from("<I", part, _CHANNEL_AT)[0]), found, None
    return None, [], None
