"""Mapped addresses, mended checksums, cut payload; what is not understood does not get out."""

from __future__ import annotations

import contextlib
import gzip
import io
import ipaddress
import shutil
import struct
from pathlib import Path

import dpkt
import pytest
from hypothesis import given, settings, strategies as st
from support_samples import SAMPLES

import multitracer as mt
from multitracer.anonymize.captures import anonymize_capture
from multitracer.anonymize.mapping import Mapping, key_of
from multitracer.anonymize.packets import LINKS, anonymous
from multitracer.anonymize.recordings import anonymize_recording, without_addresses
from multitracer.model.errors import UnreadableFile, UsageError
from multitracer.record.packetsocket import PcapngWriter

# The sample of the authors' program (Crypto-PAn 1.0, sample_trace_raw.dat and sample_trace_sanitized.dat).
KEY = bytes([21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16]) + bytes(
    [216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2]
)
PUBLISHED = {
    "128.11.68.132": "135.242.180.132",
    "129.118.74.4": "134.136.186.123",
    "130.132.252.244": "133.68.164.234",
    "141.223.7.43": "141.167.8.160",
    "152.163.225.39": "151.140.114.167",
    "156.29.3.236": "147.225.12.42",
    "166.107.77.190": "160.132.178.185",
    "192.41.57.43": "252.222.221.184",
    "195.205.63.100": "255.186.223.5",
    "198.200.171.101": "249.199.68.213",
}
MAPPING = Mapping(KEY)


def test_published_vectors() -> None:
    assert {one: MAPPING.ip_text(one) for one in PUBLISHED} == PUBLISHED


def _common(first: bytes, second: bytes) -> int:
    differs = int.from_bytes(first, "big") ^ int.from_bytes(second, "big")
    return 8 * len(first) - differs.bit_length()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from((4, 16)).flatmap(lambda n: st.tuples(*[st.binary(min_size=n, max_size=n)] * 2)))
def test_prefixes_in_common_stay_in_common(pair: tuple[bytes, bytes]) -> None:
    first, second = pair
    if any(first) and any(second) and not {first[:12], second[:12]} & {bytes(10) + b"\xff\xff"}:
        assert _common(MAPPING.ip(first), MAPPING.ip(second)) == _common(first, second)


def test_both_spellings_of_an_address_remain_one() -> None:
    plain = MAPPING.ip_text("192.0.2.1")
    assert MAPPING.ip_text("::ffff:192.0.2.1") == f"::ffff:{plain}"
    assert (MAPPING.ip_text("::"), MAPPING.ip_text("0.0.0.0"), MAPPING.ip_text("eth0")) == (
        "::",
        "0.0.0.0",
        "eth0",
    )


def _valid(packet: bytes) -> tuple[bool, bool]:
    """Whether the checksums of IPv4 and of TCP are right, by dpkt."""
    ip = dpkt.ip.IP(packet)
    header = packet[: 4 * (packet[0] & 15)]
    tcp = packet[len(header) :]
    pseudo = packet[12:20] + struct.pack(">BBH", 0, 6, len(tcp))
    return dpkt.in_cksum(header) == 0, ip.p == 6 and dpkt.in_cksum(pseudo + tcp) == 0


@settings(max_examples=100, deadline=None)
@given(
    st.binary(min_size=8, max_size=8),
    st.integers(0, 65_535),
    st.integers(0, 65_535),
    st.sampled_from(
        (b"", b"\x02\x04\x05\xb4", b"\x08\x0a" + b"\x11" * 8 + b"\x01\x01", b"\x22\x06abcd\x01\x01")
    ),
    st.integers(0, 3),
)
def test_checksums_stay_right_or_wrong_as_they_were(
    addresses: bytes, port: int, window: int, options: bytes, wrong: int
) -> None:
    tcp = dpkt.tcp.TCP(sport=port, dport=80, win=window, opts=options, off=5 + len(options) // 4, flags=16)
    ip = dpkt.ip.IP(src=addresses[:4], dst=addresses[4:], p=6, data=tcp, len=40 + len(options))
    packet = bytearray(bytes(ip))
    packet[10] ^= wrong & 1
    packet[20 + 16] ^= wrong & 2
    before = _valid(bytes(packet))
    after = anonymous(bytes(packet), 101, MAPPING)
    assert before == (not wrong & 1, not wrong & 2)
    assert _valid(after) == before
    assert after[20:24] == packet[20:24]
    assert after[12:20] == MAPPING.ip(addresses[:4]) + MAPPING.ip(addresses[4:])
    assert b"abcd" not in after


def test_payload_is_cut_and_lengths_stay() -> None:
    packet = bytes(
        dpkt.ip.IP(src=b"\xc0\0\2\1", dst=b"\xc0\0\2\2", p=6, data=dpkt.tcp.TCP(data=b"secret"), len=46)
    )
    after = anonymous(bytes(12) + b"\x08\x00" + packet, 1, MAPPING)
    assert len(after) == 14 + 40
    assert after[16:18] == packet[2:4]
    six = dpkt.ip6.IP6(
        src=bytes(15) + b"\1", dst=bytes(15) + b"\2", nxt=17, data=dpkt.udp.UDP(data=b"secret"), plen=14
    )
    assert len(anonymous(bytes(six), 101, MAPPING)) == 48


def test_errors_keep_the_headers_that_they_are_about() -> None:
    inner = bytes(
        dpkt.ip.IP(src=b"\xc0\0\2\1", dst=b"\xc0\0\2\2", p=6, data=b"\x13\x88\0\x50\0\0\0\7secret", len=34)
    )
    icmp = bytearray(b"\3\4\0\0\0\0\5\xdc" + inner[:28])
    icmp[2:4] = dpkt.in_cksum(bytes(icmp)).to_bytes(2, "big")
    outer = dpkt.ip.IP(src=b"\xc6\x33\x64\1", dst=b"\xc0\0\2\1", p=1, data=bytes(icmp), len=20 + len(icmp))
    after = anonymous(bytes(outer), 101, MAPPING)
    assert after[28 + 12 : 28 + 20] == MAPPING.ip(b"\xc0\0\2\1") + MAPPING.ip(b"\xc0\0\2\2")
    assert after[48:56] == inner[20:28]
    # It was right over 28 bytes of the packet, and so it is.
    assert dpkt.in_cksum(after[20:]) == dpkt.in_cksum(bytes(icmp)) == 0


@pytest.mark.parametrize("kind", [b"\x08\x06", b"\x88\xcc", b"\x88\x64"])
def test_what_is_not_understood_is_cut(kind: bytes) -> None:
    after = anonymous(b"\2\0\0\0\0\1" + b"\2\0\0\0\0\2" + kind + b"\xc0\0\2\1" * 20, 1, MAPPING)
    assert len(after) == 14
    assert after[12:] == kind


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(LINKS)),
    st.binary(max_size=120),
    st.sampled_from((b"", b"\x45", b"\x60\0\0\0\0\0\0")),
)
def test_any_bytes(link_type: int, data: bytes, begin: bytes) -> None:
    data = data[: LINKS[link_type]] + begin + data[LINKS[link_type] :]
    assert len(anonymous(data, link_type, MAPPING)) <= len(data)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from((b"\xd4\xc3\xb2\xa1", b"\x0a\x0d\x0d\x0a", b"")), st.binary(max_size=200))
def test_any_file(magic: bytes, data: bytes) -> None:
    with contextlib.suppress(UnreadableFile):
        anonymize_capture(io.BytesIO(magic + data), io.BytesIO(), MAPPING)


def test_lines_of_logs() -> None:
    address = MAPPING.ip_text("192.0.2.1")
    for line, wanted in (
        (
            b"src=192.0.2.1:80 dest=[2001:db8::1]:443",
            f"src={address}:80 dest=[{MAPPING.ip_text('2001:db8::1')}]:443",
        ),
        (b"saddrv6=::ffff:192.0.2.1 x", f"saddrv6=::ffff:{address} x"),
        (
            b"ESTAB 0 1 192.0.2.1%eth0:80 rtt:0.144/0.059 wscale:10,10",
            f"ESTAB 0 1 {address}%eth0:80 rtt:0.144/0.059 wscale:10,10",
        ),
        (b"1795351054.252826452", "1795351054.252826452"),
    ):
        assert without_addresses(line, MAPPING).decode() == wanted
    assert b"02:00:00:00:00:07" not in without_addresses(
        b"# iw Station 02:00:00:00:00:07 (on wlan0)", MAPPING
    )


def test_a_recording_says_the_same_without_its_addresses(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    for one in (SAMPLES / "host-queue").iterdir():
        content = one.read_bytes()
        content = gzip.decompress(content) if one.suffix == ".gz" else content
        (folder / one.name.removesuffix(".gz")).write_bytes(content.replace(b'.gz"', b'"'))
    shutil.copytree(folder, tmp_path / "before")
    (folder / "notes.txt").write_text("10.91.0.1 is my server")
    (removed,) = anonymize_recording(str(folder), MAPPING)
    assert "notes.txt" in removed
    for path in folder.iterdir():
        content = path.read_bytes()
        for word in (b"10.91.0.", b"\x0a\x5b\x00", b"python"):
            assert word not in content, path
    before, after = (mt.analyze(mt.read(one)).to_dict() for one in (tmp_path / "before", folder))
    for key in ("retransmissions", "bytes", "limits", "losses", "point"):
        assert after["connections"][0][key] == before["connections"][0][key]
    for key in ("drops", "qdisc", "device", "application", "retransmissions"):
        assert after["host"][key] == before["host"][key]
    found = {
        str(ipaddress.ip_address(end.rpartition(":")[0])) for end in after["connections"][0]["endpoints"]
    }
    assert found == {MAPPING.ip_text("10.91.0.1"), MAPPING.ip_text("10.91.0.2")}


def test_a_packet_socket_s_capture(tmp_path: Path) -> None:
    packet = bytes.fromhex(
        "020000000002020000000001080045000028000100004006f7cb0a0000010a000002138813890000000100000000500220000000"
    )
    raw, less = io.BytesIO(), io.BytesIO()
    writer = PcapngWriter(raw, "eth0", 1, 128, "host myname, kernel y")
    writer.packet(1_795_000_000_123_456_789, packet + b"\0\0secret", 62)
    writer.statistics(1_795_000_001_000_000_000, 9, 2)
    raw.seek(0)
    assert anonymize_capture(raw, less, MAPPING) == 1
    assert b"myname" not in less.getvalue()
    assert b"secret" not in less.getvalue()
    path = tmp_path / "less.pcapng"
    path.write_bytes(less.getvalue())
    trace = mt.read(path).traces[0]
    assert trace.tables["segments"]["t_ns"].tolist() == [1_795_000_000_123_456_789]
    assert [issue.code for issue in trace.issues if issue.code == "capture-drops"] == ["capture-drops"]


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = key_of(str(path))
    assert key_of(str(path)) == made
    assert path.stat().st_mode & 0o77 == 0
    assert key_of(None) != key_of(None)
    path.write_text("no key")
    with pytest.raises(UsageError):
        key_of(str(path))


def test_exports_of_both_ends_map_alike(tmp_path: Path, run) -> None:
    sample, key = str(SAMPLES / "spurious-timeouts"), str(tmp_path / "key")
    ends = {}
    for end in ("snd", "rcv"):
        out = str(tmp_path / f"{end}.pcap")
        said = run(
            "export", sample, "--to", "pcap", "--end", end, "-o", out, "--anonymize", "--anonymize-key", key
        )
        assert said.returncode == 0, said.stderr
        ends[end] = mt.read(out).connections[0].endpoints
    original = mt.read(sample).connections[0].endpoints
    assert ends["snd"] == ends["rcv"] != original
    assert [port for _, port in ends["snd"]] == [port for _, port in original]
    assert run("export", sample, "--to", "pcap", "-o", "x.pcap", "--anonymize-key", key).returncode == 2
