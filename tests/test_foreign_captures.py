"""Captures of other programs: refused by name, with the command that converts them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.cli.main import main
from multitracer.model.errors import UnknownFormat
from multitracer.reading import foreign

SAMPLE = SAMPLES / "flow-control" / "snd.pcap"
needs_editcap = pytest.mark.skipif(shutil.which("editcap") is None, reason="no editcap here")


def converted(folder: Path, kind: str, name: str) -> Path:
    path = folder / name
    if kind == "erf":
        path.write_bytes(b"".join(erf(packet) for _, packet in native.packets(str(SAMPLE))))
        return path
    subprocess.run(["editcap", "-F", kind, "-T", "ether", str(SAMPLE), str(path)], check=True)
    return path


def erf(packet: native.RawPacket) -> bytes:
    """A record of an Endace card: Ethernet, two bytes in front of it."""
    seconds, rest = divmod(packet.t_ns, 10**9)
    stamp = seconds << 32 | (rest << 32) // 10**9
    body = bytes(2) + bytes(12) + b"\x08\0" + packet.data
    return struct.pack("<QBB", stamp, 2, 4) + struct.pack(">HHH", 16 + len(body), 0, len(body) - 2) + body


@needs_editcap
@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("snoop", "old.snp", "snoop"),
        ("erf", "card.erf", "ERF"),
        ("netmon2", "m.cap", "Network Monitor 2"),
        ("netmon1", "m.cap", "Network Monitor 1"),
        ("ngwsniffer_2_0", "s.cap", "NetXRay"),
        ("ngwsniffer_1_1", "s.cap", "NetXRay"),
        ("ngsniffer", "s.enc", "Sniffer (DOS)"),
        ("nettl", "n.trc", "nettl"),
        ("visual", "v.cap", "Visual Networks"),
        ("k12text", "k.txt", "K12"),
        ("lanalyzer", "l.tr1", "LANalyzer"),
    ],
)
def test_it_is_named_and_the_command_converts_it(
    kind: str, name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = converted(tmp_path, kind, name)
    assert main(["analyze", str(path)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    command = line.rpartition("editcap: ")[2].split()
    subprocess.run(command, cwd=tmp_path, check=True)
    (back,) = tmp_path.glob("*.pcapng")
    (source,) = mt.read(back, detail="summary").sources
    (original,) = mt.read(SAMPLE, detail="summary").sources
    assert source.records == original.records


@needs_editcap
@pytest.mark.parametrize(("kind", "words"), [("5views", "5View"), ("observer", "Observer")])
def test_it_is_named(kind: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of these, editcap 4.0 does not read what it wrote itself."""
    assert main(["analyze", str(converted(tmp_path, kind, "capture"))]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert "editcap -F pcapng" in line


@needs_editcap
@pytest.mark.parametrize("kind", ["nokiapcap", "modpcap", "rh6_1pcap", "suse6_3pcap", "nsecpcap"])
def test_a_patched_libpcap_is_read(kind: str, tmp_path: Path) -> None:
    """Record headers of 20, 24 and 28 bytes, with magic numbers that say 16 or 24."""
    path = tmp_path / "x.pcap"
    subprocess.run(["editcap", "-F", kind, str(SAMPLE), str(path)], check=True)
    found, original = (mt.read(one, detail="summary") for one in (path, SAMPLE))
    assert not found.issues
    assert found.sources[0].records == original.sources[0].records
    assert found.sources[0].details["packets_by_kind"] == original.sources[0].details["packets_by_kind"]


def test_what_only_looks_like_one_is_not_named(tmp_path: Path) -> None:
    assert foreign.named("x", bytes(64)) is None
    record = struct.pack(">QBBHHH", 1, 2, 4, 80, 0, 60) + bytes(64)
    assert foreign.named("x.bin", record) is None
    assert foreign.named("x.erf", record) is not None
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(UnknownFormat, match="not a trace of a known format"):
        mt.read(path)
