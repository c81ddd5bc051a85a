"""Pages of studies say what their kept summaries hold; the small pieces of their scripts."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import multitracer as mt
from multitracer.model.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "studies"
STUDIES = ("manet-tcp", "window-queue-segment", "radio-buffer-packet", "grid")
MOST_PICTURE_BYTES = 150_000


def script(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of studies/, with its own folder to import from."""
    file = ROOT / "studies" / path
    monkeypatch.syspath_prepend(str(file.parent))
    for name in ("ccid3", "packets"):
        sys.modules.pop(name, None)
    spec = importlib.util.spec_from_file_location(f"study_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("study", STUDIES)
def test_tables_are_those_of_the_kept_summary(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = script("pages.py", monkeypatch)
    text = (PAGES / f"{study}.md").read_text(encoding="utf-8")
    assert len(pages.TABLE.findall(text)) >= 5
    assert pages.filled(text, pages.kept(study)) == text


def test_pictures_are_there_and_small() -> None:
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name in {part.split(")")[0] for part in text.split("](")[1:]}:
            assert (PAGES / name).exists(), f"{page.name}: {name}"
    for picture in PAGES.glob("*.png"):
        assert picture.stat().st_size < MOST_PICTURE_BYTES


def test_a_table_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = script("pages.py", monkeypatch)
    rows = [
        {"name": f"r{n}", "mtu": mtu, "rts": rts, "goodput_bps": 1000.0 * n}
        for n, (mtu, rts) in enumerate([(512, "on"), (512, "on"), (1500, "on"), (1500, "off")], 1)
    ]
    found = pages.table(*pages.asked(rows, "goodput_bps:mtu,rts unit=kbit/s digits=1 sort=1500;512"))
    assert found.splitlines() == [
        "| mtu \\ rts | off | on |",
        "|---|---|---|",
        "| 1500 | **4.0** | **3.0** |",
        "| 512 |  | **1.5** (1.2 to 1.8) |",
        "",
        "`goodput_bps` [kbit/s]: median (quartiles), n = 1 to 2 in each cell.",
    ]
    only = pages.asked(rows, "goodput_bps:mtu rts=off")[0]
    assert [(cell.row, cell.n) for cell in only.cells] == [(1500, 1)]
    with pytest.raises(UsageError, match="no column"):
        pages.asked(rows, "goodput_bps:window")


def test_a_short_dccp_run_is_read_as_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_runs = script("dccp-wlan/make_runs.py", monkeypatch)
    link = make_runs.WLAN | {"queue_packets": 60}
    sender_saw, receiver_saw = make_runs.transfer(link, float("inf"), 6.0, seed=1)
    make_runs.capture(tmp_path / "snd.pcap", sender_saw)
    make_runs.capture(tmp_path / "rcv.pcap", receiver_saw)
    analysis = mt.analyze(mt.read(tmp_path / "snd.pcap", tmp_path / "rcv.pcap"))
    found = {
        analysis.measurement.sources[one["source"]].path.rsplit("/")[-1]: one
        for one in analysis.dccp["connections"]
    }
    sent = [raw for _, raw in sender_saw if make_runs.numbers(raw)[0] == 2]
    arrived = [raw for _, raw in receiver_saw if make_runs.numbers(raw)[0] == 2]
    assert found["snd.pcap"]["data_packets"] == len(sent)
    assert found["rcv.pcap"]["data_packets"] == len(arrived)
    assert len(arrived) < len(sent)
    # The queue that was set: what waits for the air counts, and a report or two are on their way.
    assert 55 <= found["snd.pcap"]["queue_packets"] <= 75
    assert found["snd.pcap"]["missing"] == 0
    assert found["snd.pcap"]["late_notice_s"] > 0
    reports = analysis.dccp.frame()
    known = reports[reports["x_calc_bps"].notna()]
    assert len(known) > 5
    assert (known["loss_event_rate"] > 0).all()
    assert reports["rtt_ns"].min() > 1_000_000
    assert (reports["receive_rate_bps"].dropna() >= 0).all()


def test_ends_of_dccp_keep_to_their_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    make_runs = script("dccp-wlan/make_runs.py", monkeypatch)
    sender_saw, _ = make_runs.transfer(make_runs.WLAN, 2e6, 5.0, seed=1)
    data = [t_ns for t_ns, raw in sender_saw if make_runs.numbers(raw)[0] == 2]
    rate = 8e9 * 1400 * (len(data) - 1) / (data[-1] - data[0])
    assert rate == pytest.approx(2e6, rel=0.02)


def test_the_table_of_dccp_is_the_kept_one() -> None:
    page = (PAGES / "dccp-wlan.md").read_text(encoding="utf-8")
    with (PAGES / "dccp-wlan.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 6
    for row in rows:
        assert "| " + " | ".join(row) + " |\n" in page
