"""The GSMTAP layout of the lab's frame captures, against a capture of the published RLP frame vectors."""

from __future__ import annotations

from pathlib import Path

import dpkt

from multitracer.lab.gsmtap import UDP_PORT, FrameWriter, gsmtap
from multitracer.lab.rlp import frames

_TDMA_FRAME_NS = 120_000_000 / 26
# What the radio measured, and our ARFCN: bytes 5 to 7 (ARFCN low, signal, SNR) and 12 (channel).
_OF_THE_RADIO = {5, 6, 7, 12}


def datagrams(path: Path) -> list[dpkt.udp.UDP]:
    with path.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        assert reader.datalink() == 101  # LINKTYPE_RAW
        return [dpkt.ip.IP(packet).data for _, packet in reader]


def test_headers_are_those_of_the_vectors(shared: Path, tmp_path: Path) -> None:
    given = datagrams(shared / "samples" / "gsm_rlp" / "constructed_gsmtap_rlp.pcap")
    assert len(given) == 7
    path = tmp_path / "rlp.pcap"
    with FrameWriter(str(path), ("127.0.0.1", "127.0.0.2"), start_ns=0) as writer:
        for datagram in given:
            uplink, number = bool(datagram.data[4] & 0x40), int.from_bytes(datagram.data[8:12], "big")
            time_ns = round((number + 0.5) * _TDMA_FRAME_NS)
            writer.write(time_ns, 0 if uplink else 1, datagram.data[16:])
            header = gsmtap(b"", uplink, time_ns, timeslot=datagram.data[3])
            for place, (ours, theirs) in enumerate(zip(header, datagram.data[:16], strict=True)):
                if place == 4:
                    assert ours & 0xC0 == theirs & 0xC0  # uplink and PCS flags beside the ARFCN's high bits
                elif place not in _OF_THE_RADIO:
                    assert ours == theirs, f"byte {place} of the header"
    for ours, theirs in zip(datagrams(path), given, strict=True):
        assert ours.dport == theirs.dport == UDP_PORT
        assert ours.data[16:] == theirs.data[16:]
        assert len(ours.data) == len(theirs.data)
        frame = frames.decode(ours.data[16:])
        assert frame is not None
        assert frames.encode(frame) == theirs.data[16:]
