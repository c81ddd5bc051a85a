"""Which files are one measurement."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support_batch import fleet
from support_samples import SAMPLES

from multitracer.batch.find import find


def test_directories(tmp_path: Path) -> None:
    fleet(tmp_path / "a" / "b", ("flow-control",))
    fleet(tmp_path, ("local-drops",))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README.md").write_text("nothing", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    shutil.copyfile(SAMPLES / "flow-control" / "snd.pcap", tmp_path / ".hidden" / "snd.pcap")
    found = find(str(tmp_path))
    assert [unit.name for unit in found.units] == ["a/b/flow-control_window=8", "local-drops_window=8"]
    assert found.unread == []


def test_output_below_the_root_is_no_input(tmp_path: Path) -> None:
    fleet(tmp_path, ("local-drops",))
    fleet(tmp_path / "results", ("flow-control",))
    assert len(find(str(tmp_path), str(tmp_path / "results")).units) == 1
    assert len(find(str(tmp_path)).units) == 2


@pytest.mark.parametrize("declared", [True, False])
def test_a_second_record_of_a_lab_run_is_no_measurement(tmp_path: Path, declared: bool) -> None:
    run = tmp_path / "run"
    (run / "frames").mkdir(parents=True)
    for name in ("rlp.log.gz", "frames/rlp.log.gz"):
        (run / name).write_bytes((SAMPLES / "link-burst" / "rlp.log.gz").read_bytes())
    if declared:
        (run / "measurement.toml").write_text("", encoding="utf-8")
    names = [unit.name for unit in find(str(tmp_path)).units]
    assert names == (["run"] if declared else ["run", "run/frames"])


def test_captures_are_paired_by_content(tmp_path: Path) -> None:
    for number, name in enumerate(("flow-control", "link-resets-vj", "local-drops")):
        for file in ("snd.pcap", "rcv.pcap"):
            shutil.copyfile(SAMPLES / name / file, tmp_path / f"{file[0]}{9 - number}.pcap")
        shutil.copyfile(SAMPLES / name / "ss.log.gz", tmp_path / f"sockets-{number}.gz")
    # A link log has no sockets: its name must say whose it is.
    shutil.copyfile(SAMPLES / "local-drops" / "rlp.log.gz", tmp_path / "r7.rlp.gz")
    shutil.copyfile(SAMPLES / "local-drops" / "rlp.log.gz", tmp_path / "link.rlp.gz")
    found = find(str(tmp_path))
    assert [(unit.name, sorted(unit.files)) for unit in found.units] == [
        ("r7.pcap", ["r7.pcap", "r7.rlp.gz", "s7.pcap", "sockets-2.gz"]),
        ("r8.pcap", ["r8.pcap", "s8.pcap", "sockets-1.gz"]),
        ("r9.pcap", ["r9.pcap", "s9.pcap", "sockets-0.gz"]),
    ]
    assert [one.path for one in found.unread] == ["link.rlp.gz"]


def test_one_pair_is_one_directory(tmp_path: Path) -> None:
    for file in ("snd.pcap", "rcv.pcap", "rlp.log.gz"):
        shutil.copyfile(SAMPLES / "local-drops" / file, tmp_path / file)
    (unit,) = find(str(tmp_path)).units
    assert (unit.name, unit.whole) == (".", True)
