"""Changes of the cell or the technology, and throughput just after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import multitracer as mt

BEGIN_S = 1_795_249_751


def drive(tmp_path: Path, falls: bool, every_s: int = 20) -> dict[str, Any]:
    """200 s at 50 Mbit/s, another cell every so many seconds, and 3 Mbit/s for a second where it `falls`."""
    lines = ["time,PCI,Technology,DL throughput (Mbps)"]
    for at in range(400):
        half = at % (2 * every_s)
        rate = 3 if falls and at > 2 * every_s and half in (1, 2) else 50
        cell = at // (2 * every_s)
        lines.append(f"{BEGIN_S + at / 2},{100 + 7 * cell},{'NR' if cell % 2 else 'LTE'},{rate}")
    path = tmp_path / "drive.csv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "measurement.toml").write_text(
        f'[sources."{path.name}"]\nformat = "csv"\ntime = "time"\n[sources."{path.name}".series]\n'
        'pci = { column = "PCI", layer = "link", changes = true }\n'
        'technology = { column = "Technology", layer = "link", changes = true }\n'
        'throughput_bps = { column = "DL throughput (Mbps)", factor = 1e6 }\n'
    )
    contract: dict[str, Any] = mt.analyze(tmp_path).to_dict()
    return contract


def test_changes_are_listed_and_held_beside_throughput(tmp_path: Path) -> None:
    contract = drive(tmp_path, falls=True)
    told = {one["name"]: one for one in contract["other"]["conditions"]["changes"]}
    assert set(told) == {"pci", "technology"}
    pci = told["pci"]
    assert (pci["count"], pci["different"]) == (9, 10)
    assert pci["times"][1] - pci["times"][0] == pytest.approx(20)
    assert pci["records"][0] == 42  # the title is the first line
    assert (told["technology"]["count"], told["technology"]["different"]) == (9, 2)
    assert pci["throughput"] == {"of": "log", "window_s": 1.0, "after_bps": 3e6, "otherwise_bps": 50e6}
    said = [one["text"] for one in contract["diagnosis"] if one["kind"] == "condition"]
    (text,) = [one for one in said if "changed" in one]
    assert "throughput fell where PCI changed (9 times): median 3 Mbit/s within 1 s after a change" in text
    assert "50 Mbit/s otherwise" in text
    assert "no proof" in text


def test_changes_without_a_fall_are_no_sentence(tmp_path: Path) -> None:
    contract = drive(tmp_path, falls=False)
    assert contract["other"]["conditions"]["changes"][0]["throughput"]["after_bps"] == 50e6
    assert not [one for one in contract["diagnosis"] if "changed" in one["text"]]


def test_two_changes_may_be_chance(tmp_path: Path) -> None:
    contract = drive(tmp_path, falls=True, every_s=70)
    assert contract["other"]["conditions"]["changes"][0]["count"] == 2
    assert not [one for one in contract["diagnosis"] if "changed" in one["text"]]


def test_the_number_of_a_cell_is_no_quantity(tmp_path: Path) -> None:
    """Cells of high numbers may well be the slow ones; that is no relation."""
    contract = drive(tmp_path, falls=True)
    (pci,) = [one for one in contract["other"]["conditions"]["series"] if one["name"] == "pci"]
    assert pci["throughput"] is None
