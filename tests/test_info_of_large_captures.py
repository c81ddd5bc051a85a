"""`info` of a capture above the limit: what it is, without the tables that only its packets fill."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_samples import SAMPLES

from multitracer.api import inventory, pipeline

FOLDER = SAMPLES / "link-resets-vj"


def test_a_large_capture_is_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FOLDER / "snd.pcap"
    (whole,) = inventory.inspect([path]).to_dict()["sources"]
    monkeypatch.setattr(pipeline, "SUMMARY_BYTES", 1000)
    found = inventory.inspect([path])
    (told,) = found.to_dict()["sources"]
    assert not found.traces[0].tables
    assert told["rows"] == {}
    assert told["details"].pop("read_as") == inventory.SUMMARY
    assert "read_as" not in whole["details"]
    same = {"records", "tcp_segments", "first_s", "last_s", "connections", "point", "format", "issues"}
    assert {name: told[name] for name in same} == {name: whole[name] for name in same}


def test_beside_other_files_each_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "SUMMARY_BYTES", (FOLDER / "rcv.pcap").stat().st_size - 1)
    sources = inventory.inspect([Path(FOLDER)]).to_dict()["sources"]
    assert {Path(one["path"]).name for one in sources} >= {"snd.pcap", "rcv.pcap", "rlp.log.gz"}
    assert any("read_as" in one["details"] for one in sources)
    points = {Path(one["path"]).name: one["point"] for one in sources if one["layer"] == "tcp"}
    assert points["snd.pcap"] in ("snd", None)
