"""Pages of studies say what their kept summaries hold; the small pieces of their scripts."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import multitracer as mt
from multitracer.model.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "studies"
FLAVOURS = ("Reno", "NewReno", "SACK")
PUBLISHED = {
    "radio-buffer-packet": (
        *(
            "Figure 3a, buffers",
            "Figure 3a, packets",
            "Figure 3a, packets, measured",
            "Figure 3a, packets, reason",
        ),
        *(
            "Figure 3, small packets",
            "Figure 3, prediction",
            "Text of Figure 3",
            "Figure 3b",
            "Figure 3b, reason",
        ),
        *("Figure 4a", "Figure 4a, reason", "Figure 4a, timers", "Summary", "Figure 4b"),
    ),
    "manet-tcp": (
        *(f"Table RTS ON / OFF, {flavour}" for flavour in FLAVOURS),
        *(f"Table 512 / 1500 byte, {flavour}" for flavour in FLAVOURS),
        *(f"Table 0.01 / 0.05 / 0.1 loss, {flavour}" for flavour in FLAVOURS),
        *(f"Table Bursty Loss, {flavour}" for flavour in FLAVOURS),
        *(f"Table All Cases, {flavour}" for flavour in FLAVOURS),
        *(f"Results: Goodput ({number})" for number in (1, 2, 3, 3)),
        *(f"Making Sense ({number})" for number in (1, 2, 3, 3, 4)),
        "All tables, level",
    ),
    "window-queue-segment": (
        *("1.1 (1), Tahoe and Reno", "1.1 (2)", "1.1 (3)", "1.1, Tahoe and Reno"),
        *("1.2 (1), Tahoe and Reno", "1.2 (1), reason", "1.2 (2), Tahoe and Reno", "1.2 (2), reason"),
        *("1.3, segments of 256", "1.3, segments of 512", "2.1, averages of 48 cases"),
        *("2.1, standard deviation, Tahoe", "2.1, two special cases", "2.1, a fair and an unfair case"),
        *("2.1, ten flows by start order", "4.1, window not above the queue", "4.1, window above the queue"),
        *("4.2, both flavours", "4.2, peaks of Tahoe", "4.2, peaks of Reno", "4.2 and 5"),
        *("5, one flow", "5, one flow", "5, one flow", "5, ten flows", "5, ten flows"),
    ),
    "dccp-wlan": (
        *("3.2, RTT at full speed", "3.2, queue length", "3.2, first loss", "3.2, RTT of a 7 Mbit/s source"),
        *("3.3, X_calc by hand", "3.3, X_calc at the loss", "3.3, double punishment"),
        *("3.3, X_calc after the loss", "3.3, three minutes", "3.4, RTT over a longer period"),
        *("3.4, RTT at 2 Mbit/s", "3.4, RTT at 5 Mbit/s", "3.4, RTT at 6 Mbit/s"),
        *("3.4, losses at 5 and 6 Mbit/s", "3.5, X_recv in more than 15 minutes"),
        *("3.5, p in more than 15 minutes", "3.5, law of the decay", "3.6, X_recv in the first second"),
        "3.6, RTT in the first second",
    ),
}
"""Every figure, table and finding of each paper, as read in it, in the page's order."""

STUDIES = ("manet-tcp", "window-queue-segment", "radio-buffer-packet", "dccp-wlan", "grid")
MOST_PICTURE_BYTES = 150_000


def script(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of studies/, with its own folder to import from."""
    file = ROOT / "studies" / path
    monkeypatch.syspath_prepend(str(file.parent))
    for name in ("ccid3", "packets", "published"):
        sys.modules.pop(name, None)
    spec = importlib.util.spec_from_file_location(f"study_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("study", STUDIES)
def test_tables_are_those_of_the_kept_summary(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = script("pages.py", monkeypatch)
    text = (PAGES / f"{study}.md").read_text(encoding="utf-8")
    assert len(pages.TABLE.findall(text)) + len(pages.METRICS.findall(text)) >= 2
    assert pages.filled(text, pages.kept(study), study) == text


@pytest.mark.parametrize("study", PUBLISHED)
def test_each_figure_and_table_of_the_paper_has_its_row(study: str) -> None:
    text = (PAGES / f"{study}.md").read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- findings -->\n")
    assert "| " not in before, "the page begins with the table"
    lines = [line for line in rest.partition("<!-- end -->")[0].splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0] == ["where", "published", "its number", "ours", "agrees, or why not"]
    assert tuple(row[0] for row in rows[1:]) == PUBLISHED[study]
    for row in rows[1:]:
        assert len(row) == 5
        assert all(row), row[0]
        verdict, _, why = row[4].partition(": ")
        assert verdict in ("**agrees**", "**differs**", "**not comparable**")
        assert why or verdict == "**agrees**", row[0]


def test_the_energy_study_has_what_ns_2_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = script("published.py", monkeypatch).kept("manet-tcp")
    assert {row["as_ns"] for row in rows} == {"True"}
    cases = [tuple(row[name] for name in ("hops", "flavour", "loss", "of", "mtu", "rts")) for row in rows]
    seeds = {case: cases.count(case) for case in cases}
    assert len(seeds) == 84 + 30
    assert len(set(seeds.values())) == 1, "as many seeds in every case"


def test_a_finding_without_a_reason_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("published.py", monkeypatch)
    with pytest.raises(ValueError, match="empty cell"):
        module.table([module.Finding("Figure 1", "it grows", "2", "1", False)])
    (line,) = module.table([module.Finding("Figure 1", "it grows", "2", "2", True)]).splitlines()[2:]
    assert line == "| Figure 1 | it grows | 2 | 2 | **agrees** |"


def test_intervals_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("published.py", monkeypatch)
    one = module.interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    assert (one.median, one.n) == (5.0, 9)
    assert 1.0 < one.low < one.median < one.high < 9.0
    assert module.interval([3.0]).text(1) == "3.0 (n = 1)"
    assert module.interval([1.0, 2.0, 4.0]).text(0) == "2 (1 to 4)"
    with pytest.raises(ValueError, match="no values"):
        module.interval([])
    rows = [{"a": 1, "b": "x", "v": 2.0}, {"a": 1, "b": "y", "v": 4.0}, {"a": 2, "b": "x", "v": None}]
    assert module.grouped(rows, "v", ("a",)) == {(1,): 3.0}
    assert module.where(rows, a=1, b=("x", "z")) == rows[:1]
    assert module.ratios({1: 6.0, 2: 1.0}, {1: 3.0}) == [2.0]


def test_a_curve_and_its_beginning_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = script("dccp-wlan/figures.py", monkeypatch)
    t_s = np.arange(1.0, 200.0)
    assert figures.halving(t_s, 2.0 ** (-t_s / 30)) == pytest.approx(30)
    assert figures.halving(t_s, t_s) is None
    assert figures.straight(t_s, np.log(np.exp(-t_s / 50))) == pytest.approx(1)
    assert figures.straight(t_s, np.log(1 / t_s)) < 0.95 < figures.straight(t_s, 1 / (1 / t_s))
    rates = 1e6 * np.array([np.nan, 7.0, 2.0, 5.0, 6.5, 1.0])
    assert figures.back(np.array([1.0, 2.0, 3.0, 9.0, 11.0, 90.0]), rates) == 11.0
    assert figures.back(np.array([1.0, 2.0]), np.array([np.nan, 1e6])) is None
    begun = figures.begun(
        np.array([0.1, 0.2, 0.3, 1.5]), np.array([1.0, 2.0, 1.5, 9.0]), np.array([1e6, 5e6, 7e6, 7e6])
    )
    assert begun == {"start_reports": 3, "start_rises": 1, "start_at_link_s": 0.3}


def test_the_loss_rate_that_gives_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = script("dccp-wlan/findings.py", monkeypatch)
    p = findings._p_of(7e6, 0.4)
    assert findings.throughput_bps(1400, 0.4, p) == pytest.approx(7e6, rel=1e-6)
    assert findings._p_of(753e3, 0.4) == pytest.approx(0.002, rel=0.01)


def test_long_packets_are_lost_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("radio-buffer-packet/fleet_errors.py", monkeypatch)
    assert module.lost(0.0001, 1) == pytest.approx(0.0001)
    assert module.lost(4e-4, 1500) == pytest.approx(1 - 0.9996**1500)
    fleet = tomllib.loads(module.fleet(""))
    assert len(fleet["runs"]) == 20
    assert len({one["label"] for one in fleet["runs"]}) == 20


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
    made = make_runs.transfer(link, float("inf"), 6.0, seed=1)
    sender_saw, receiver_saw = made.sender_saw, made.receiver_saw
    make_runs.capture(tmp_path / "snd.pcap", sender_saw)
    make_runs.capture(tmp_path / "rcv.pcap", receiver_saw)
    analysis = mt.analyze(mt.read(tmp_path / "snd.pcap", tmp_path / "rcv.pcap"))
    found = {
        analysis.measurement.sources[one["source"]].path.rsplit("/")[-1]: one
        for one in analysis.dccp["connections"]
    }
    sent = [raw for _, raw, _ in sender_saw if make_runs.numbers(raw)[0] == 2]
    arrived = [raw for _, raw, _ in receiver_saw if make_runs.numbers(raw)[0] == 2]
    assert found["snd.pcap"]["data_packets"] == len(sent)
    assert found["rcv.pcap"]["data_packets"] == len(arrived)
    assert 0 < made.lost_in_queue + made.lost_on_air <= len(sent) - len(arrived)
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
    sender_saw = make_runs.transfer(make_runs.WLAN, 2e6, 5.0, seed=1).sender_saw
    data = [t_ns for t_ns, raw, _ in sender_saw if make_runs.numbers(raw)[0] == 2]
    rate = 8e9 * 1400 * (len(data) - 1) / (data[-1] - data[0])
    assert rate == pytest.approx(2e6, rel=0.02)
