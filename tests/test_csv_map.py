"""A column map for tables of any make: times of any form, units, layers, changes; and the first map."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
import support_format_samples as samples
from hypothesis import given, settings, strategies as st
from support_samples import SAMPLES

import multitracer as mt
from multitracer.api.inventory import column_map
from multitracer.model.errors import CorruptTrace, MultiTracerError, UnmappedTable, UsageError
from multitracer.parsers import csv as csv_parser
from multitracer.parsers._helpers.timestamps import Clock, forms_of

SECOND = 10**9


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "drive.csv"
    path.write_text(samples.MAP_CSV)
    return path


def test_the_first_map_reads_the_file(drive: Path) -> None:
    text = column_map(str(drive))
    drive.with_name("measurement.toml").write_text(text)
    entry = tomllib.loads(text)["sources"]["drive.csv"]
    assert entry["time"] == ["Date", "Time"]
    assert entry["separator"] == ";"
    assert entry["time_format"] == "%d.%m.%Y %H:%M:%S.%f"
    assert entry["series"]["rsrp_dbm"] == {"column": "RSRP (dBm)", "layer": "link"}
    assert entry["series"]["throughput_bps"] == {
        "column": "DL throughput (Mbps)",
        "factor": 1e6,
        "layer": "kernel",
    }
    m = mt.read(drive.parent)
    assert [source.layer for source in m.sources] == ["link", "kernel"]
    series = m.table("series")
    values = {
        name: series["value"][series["name"] == name].tolist()
        for name in dict.fromkeys(series["name"].tolist())
    }
    assert values["rsrp_dbm"] == [-88.5, -91.0, -109.5, -80.0]
    assert values["throughput_bps"] == pytest.approx([61.2e6, 58.75e6, 4.1e6, 180.5e6])
    assert values["pci"] == [101, 108, 311]  # where it changes
    assert values["technology:LTE"] == [1.0]
    assert values["technology:NR"] == [1.0]
    assert series["record"].min() == 2
    assert not [issue for issue in m.issues if issue.code == "bad-number"]


@pytest.mark.parametrize(
    ("text", "form", "zone", "expected"),
    [
        ("1795249751.123456789", "s", "UTC", 1795249751123456789),
        ("1795249751123.5", "ms", "UTC", 1795249751123500000),
        ("-1.5", "s", "UTC", -1_500_000_000),
        ("1970-01-02 00:00:00", "iso", "UTC", 86400 * SECOND),
        ("1970-01-01T01:00:00.5", "iso", "+01:00", SECOND // 2),
        ("1970-01-01T01:00:00Z", "iso", "+05:00", 3600 * SECOND),
        (
            "01.07.1970 02:00:00.123456789",
            "%d.%m.%Y %H:%M:%S.%f",
            "UTC",
            181 * 86400 * SECOND + 7200123456789,
        ),
        ("2026-07-01 12:00:00", "%Y-%m-%d %H:%M:%S", "Europe/Berlin", 1782900000 * SECOND),
        ("2026-01-01 12:00:00", "%Y-%m-%d %H:%M:%S", "Europe/Berlin", 1767265200 * SECOND),
        ("noon", "iso", "UTC", None),
        ("nan", "s", "UTC", None),
        ("1e300", "s", "UTC", None),
    ],
)
def test_times(text: str, form: str, zone: str, expected: int | None) -> None:
    assert Clock(form, zone).ns(text) == expected


def test_times_of_a_table_may_go_back_now_and_then() -> None:
    """Whole seconds, one row of a hundred out of order; numbers that often go back are no times."""
    times = [str(at) for at in range(100)]
    assert forms_of([*times[:60], "40", *times[60:]]) == ["s"]
    assert forms_of([str(at % 7) for at in range(100)]) == []


@pytest.mark.parametrize(
    ("stamp", "zone", "seconds"),
    [
        ("2026-11-21 03:48:06.544 CDT", "-05:00", 1_795_250_886.544),  # the abbreviation is not believed
        ("2026-11-21 03:48:06.544 UTC", "-05:00", 1_795_232_886.544),
        ("2026-11-21 03:48:06.544 GMT", "UTC", 1_795_232_886.544),
    ],
)
def test_an_abbreviated_zone(stamp: str, zone: str, seconds: float) -> None:
    assert "iso" in forms_of([stamp, stamp])
    assert Clock("iso", zone).ns(stamp) == round(seconds * 1000) * 10**6


def test_a_first_map_of_a_table_of_a_phone(tmp_path: Path) -> None:
    """Handovers by another name, and a rate that only its unit tells."""
    path = tmp_path / "phone.csv"
    path.write_text(
        "time,mobileRx_diff_Mbps,handoff type\n" + "".join(f"{at},{at / 2},{at % 2}t4\n" for at in range(9))
    )
    made = column_map(path)
    assert 'mobilerx_diff_bps = { column = "mobileRx_diff_Mbps", factor = 1e+06, layer = "kernel" }' in made
    assert 'handoff_type = { column = "handoff type", layer = "link", changes = true }' in made
    assert tomllib.loads(made)


def test_day_and_month_are_both_offered() -> None:
    forms = forms_of(["03/04/2026 10:00:00", "05/04/2026 10:00:00"])
    assert forms[:2] == ["%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"]
    assert forms_of(["13/04/2026 10:00:00"]) == ["%d/%m/%Y %H:%M:%S"]
    assert forms_of(["x", "y"]) == []


def test_bad_fields_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,a,b\n1,5,x\n2,oops,7\nnoon,1,1\n3,N/A,-85 dBm\n")
    trace = csv_parser.configured(str(path), {"time": "t", "series": {"a": "a", "b": "b"}})
    series = trace.tables["series"]
    assert sorted(zip(series["name"], series["value"], strict=True)) == [("a", 5.0), ("b", -85.0), ("b", 7.0)]
    (issue,) = (issue for issue in trace.issues if issue.code == "bad-number")
    assert issue.count == 3


@pytest.mark.parametrize(
    "entry",
    [
        {"series": {}},
        {"series": {"a": 1}},
        {"series": {"a": "nowhere"}},
        {"series": {"a": {"column": "a", "factor": "much"}}},
        {"series": {"a": {"column": "a", "layer": "sea"}}},
        {"series": {"a": "a"}, "time": "nowhere"},
        {"series": {"a": "a"}, "zone": "Mars/Olympus"},
        {"series": {"a": "a"}, "separator": "::"},
    ],
)
def test_a_map_that_contradicts_the_file_is_refused(tmp_path: Path, entry: dict[str, object]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,a\n1,5\n2,6\n")
    with pytest.raises(UsageError):
        csv_parser.configured(str(path), entry)


def test_a_table_without_times_has_no_map(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,colour\nx,red\ny,blue\n")
    with pytest.raises(CorruptTrace, match="no column holds times"):
        column_map(str(path))


@settings(max_examples=150)
@given(st.binary(max_size=400))
def test_any_bytes_end_in_data_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    for read in (
        lambda: csv_parser.configured(
            str(path), {"series": {"a": "1", "b": {"column": "2", "changes": True}}}
        ),
        lambda: column_map(str(path)),
    ):
        try:
            read()
        except MultiTracerError:
            continue


def test_a_table_without_a_map_is_named_with_the_command_that_makes_one(drive: Path, tmp_path: Path) -> None:
    with pytest.raises(UnmappedTable, match="info --map"):
        mt.read(drive)
    there = tmp_path / "run"
    there.mkdir()
    (there / "drive.csv").write_bytes(drive.read_bytes())
    shutil.copy(SAMPLES / "backoff" / "snd.pcap", there)
    (found,) = [issue for issue in mt.read(there).issues if issue.code == "unmapped-table"]
    assert found.path.endswith("drive.csv")
    # With a map of another day's clock, it is said how far the times are away.
    (there / "measurement.toml").write_text(column_map(str(drive)))
    apart = [issue.detail for issue in mt.read(there).issues if issue.code == "unjoined-source"]
    assert apart
    assert all(" those of snd.pcap" in words for words in apart)
