"""Verdicts handed to Wireshark: packet comments and a post-dissector, read back by tshark."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support_samples import PATIENCE_S, SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.cli.main import group
from multitracer.export import annotated, dissector
from multitracer.export.notes import notes

VJ = SAMPLES / "link-resets-vj"
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")


@pytest.fixture(scope="module")
def resets() -> Any:
    return mt.analyze(VJ)


def fields(capture: Path, *names: str, script: Path | None = None, only: str = "frame") -> list[list[str]]:
    assert TSHARK is not None
    options = ["-X", f"lua_script:{script}"] if script else []
    wanted = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        [TSHARK, *options, "-r", str(capture), "-Y", only, "-T", "fields", *wanted],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert "error" not in done.stderr.lower(), done.stderr
    return [row.split("\t") for row in done.stdout.splitlines()]


@pytest.mark.parametrize("end", ["snd", "rcv"])
def test_a_commented_capture_is_the_capture(resets: Any, tmp_path: Path, end: str) -> None:
    target = tmp_path / "commented.pcapng"
    packets, commented = annotated.write(resets, str(target), point=end)
    old = list(native.packets(str(VJ / f"{end}.pcap")))
    assert list(native.packets(str(target))) == old
    assert packets == len(old)
    assert 0 < commented < packets


@needs_tshark
def test_wireshark_shows_and_filters_the_comments(resets: Any, tmp_path: Path) -> None:
    target = tmp_path / "commented.pcapng"
    _, commented = annotated.write(resets, str(target))
    rows = fields(target, "frame.number", "frame.comment", only="frame.comment")
    said = notes(resets, resets.measurement.snd)
    assert {int(number) for number, _ in rows} == set(said)
    assert len(rows) == commented
    again = fields(target, "frame.number", only='frame.comment contains "retransmission"')
    assert len(again) == resets.to_dict()["connections"][0]["retransmissions"]["total"] == 35
    timers = fields(target, "frame.number", only='frame.comment contains "genuine timeout"')
    judged = resets.results["timeouts"].tables["timeouts"]
    assert [int(row[0]) for row in timers] == sorted(judged["record"].tolist())


@needs_tshark
def test_the_post_dissector_gives_fields(resets: Any, tmp_path: Path) -> None:
    script = tmp_path / "verdicts.lua"
    count = dissector.write(resets, str(script))
    capture = VJ / "snd.pcap"
    rows = fields(
        capture, "frame.number", "multitracer.verdict", "multitracer.cause", "multitracer.timeout",
        "multitracer.limit", "multitracer.waited", script=script, only="multitracer",
    )  # fmt: skip
    said = notes(resets, resets.measurement.snd)
    assert len(rows) == count == len(said)
    for number, verdict, cause, timeout, limit, waited in rows:
        note = said[int(number)]
        assert (verdict, cause, timeout, limit) == (note.verdict, note.cause, note.timeout, note.limit)
        assert float(waited or 0) == pytest.approx(note.waited_s, abs=1e-5)
    lost = fields(capture, "frame.number", script=script, only='multitracer.fate == "lost"')
    fates = resets.results["losses"].tables["fates"]
    expected = fates["record"][fates.words("fate") == "lost"]
    assert [int(row[0]) for row in lost] == sorted(set(expected.tolist()))


@needs_tshark
def test_the_post_dissector_of_another_capture_says_nothing(resets: Any, tmp_path: Path) -> None:
    script = tmp_path / "verdicts.lua"
    dissector.write(resets, str(script))
    other = SAMPLES / "flow-control" / "snd.pcap"
    assert fields(other, "frame.number", script=script, only="multitracer") == []


def test_every_container_of_a_capture_can_be_copied(tmp_path: Path) -> None:
    folder = tmp_path / "zipped"
    folder.mkdir()
    (folder / "snd.pcap.gz").write_bytes(gzip.compress((VJ / "snd.pcap").read_bytes()))
    found = mt.analyze(folder)
    annotated.write(found, str(tmp_path / "a.pcapng"))
    again = tmp_path / "again"
    again.mkdir()
    shutil.move(tmp_path / "a.pcapng", again / "snd.pcapng")
    annotated.write(mt.analyze(again), str(tmp_path / "b.pcapng"))
    assert list(native.packets(str(tmp_path / "b.pcapng"))) == list(native.packets(str(VJ / "snd.pcap")))


def test_packets_of_some_numbers_and_of_several_files(tmp_path: Path) -> None:
    path = str(VJ / "snd.pcap")
    whole = list(native.packets(path))
    assert [number for number, _ in whole] == list(range(1, len(whole) + 1))
    assert list(native.packets(path, [7, 3, 3, 10**6])) == [whole[2], whole[6]]
    assert [packet for _, packet in whole[:3]] == [native.packet(path, number) for number in (1, 2, 3)]
    both = native.rotated.Parts((path, path))
    found = list(native.packets(both))
    assert [number for number, _ in found] == list(range(1, 2 * len(whole) + 1))
    assert [packet for _, packet in found[len(whole) :]] == [packet for _, packet in whole]
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((VJ / "snd.pcap").read_bytes()[:-5])
    assert list(native.packets(str(cut))) == whole[:-1]


def test_a_lone_receivers_capture_has_notes_too(tmp_path: Path) -> None:
    shutil.copy(VJ / "rcv.pcap", tmp_path)
    found = mt.analyze(tmp_path / "rcv.pcap")
    target = tmp_path / "notes.lua"
    assert dissector.write(found, str(target), point="rcv") > 0
    words = target.read_text()
    # The only capture stands for the other end as well.
    assert dissector.write(found, str(target), point="snd") > 0
    assert target.read_text() == words


def test_command(tmp_path: Path) -> None:
    for target in ("pcapng", "lua"):
        out = tmp_path / f"out.{target}"
        done = CliRunner().invoke(group, ["export", str(VJ), "--to", target, "-o", str(out), "--json"])
        assert done.exit_code == 0, done.output
        assert '"commented": ' in done.output
        assert out.stat().st_size > 0
