"""Messages of RRC in a phone's log: what is read of their first bits, held to tshark's dissection of all."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_rlc import pcap, tshark

from multitracer import native

REESTABLISHMENT, ANSWER, HANDOVER = 3, 5, 6
# As version 26 numbers the kinds of channel: common and dedicated control down, common control up.
CHANNELS = {8: "lte_rrc.dl_ccch", 9: "lte_rrc.dl_dcch", 10: "lte_rrc.ul_ccch"}
ELEMENTS = {
    "rrcConnectionReestablishmentRequest": REESTABLISHMENT,
    "rrcConnectionRequest": REESTABLISHMENT,
    "rrcConnectionReestablishment": ANSWER,
    "rrcConnectionSetup": ANSWER,
    "mobilityControlInfo": HANDOVER,
    "rrcConnectionRelease": None,
}


def messages(content: bytes) -> Iterator[tuple[tuple[int, int], int, bytes]]:
    """Record and SIM card, kind of channel, and the message."""
    for record, frame in enumerate((part for part in content.split(b"\x7e") if part), 1):
        plain = frame.replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")[:-2]
        wrapped = plain.startswith(b"\x98\1\0\0")
        card, plain = (plain[4], plain[8:]) if wrapped else (0, plain)
        if plain[:1] == b"\x10" and plain[6:8] == b"\xc0\xb0" and plain[16] == 26:
            body = plain[16:]
            (length,) = struct.unpack_from("<H", body, 19)
            yield (record, card), body[14], body[21 : 21 + length]


def test_a_real_log_as_tshark_has_it(shared: Path, tmp_path: Path) -> None:
    log = shared / "samples" / "mobileinsight" / "20201116_123302_Xiaomi-Mi10_46000.mi2log"
    found = list(messages(log.read_bytes()))
    told: dict[tuple[int, int], str] = {}
    for channel, name in CHANNELS.items():
        mine = [(place, message) for place, kind, message in found if kind == channel]
        path = tmp_path / f"{channel}.pcap"
        path.write_bytes(pcap(148, [message for _, message in mine]))
        fields = [f"lte-rrc.{element}_element" for element in ELEMENTS]
        as_rrc = f'uat:user_dlts:"User 1 (DLT=148)","{name}","0","","0",""'
        rows = tshark(path, *fields, options=(as_rrc,))
        assert len(rows) == len(mine) > 0
        for (place, _), row in zip(mine, rows, strict=True):
            element = next((one for one, value in zip(ELEMENTS, row, strict=False) if value), None)
            if element is not None:
                told[place] = element
    expected, released = {}, set()
    for (record, card), element in sorted(told.items()):
        kind = ELEMENTS[element]
        if kind is None:
            released.add(card)
        elif element == "rrcConnectionRequest" and card in released:
            released.remove(card)  # a new connection after an orderly end is no reset
        else:
            expected[record] = kind
    assert {"rrcConnectionRelease", "rrcConnectionRequest", "mobilityControlInfo"} <= set(told.values())
    scan = native.read_diag(str(log), xml=False)
    rows_of = scan.tables["pdus"]
    assert dict(zip(rows_of["record"].tolist(), rows_of["kind"].tolist(), strict=True)) == expected
    assert set(rows_of["bearer"].tolist()) == {-1}
    assert {issue.code for issue in scan.issues} <= {"bad-frame"}


@pytest.mark.parametrize("version", [0, 13, 200])
def test_an_unknown_version_is_no_guess(tmp_path: Path, version: int) -> None:
    from support_modem import GPS_EPOCH_NS, framed, packet

    body = bytes([version]) + bytes(11) + bytes([7]) + bytes(4) + struct.pack("<H", 2) + b"\x22\x08"
    path = tmp_path / "phone.mi2log"
    path.write_bytes(framed(packet(0xB0C0, GPS_EPOCH_NS + 10**18, body)) * 2)
    scan = native.read_diag(str(path), xml=False)
    assert not len(scan.tables["pdus"]["kind"])
    assert [(issue.code, issue.count) for issue in scan.issues] == [("unknown-message", 2)]
