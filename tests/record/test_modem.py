"""Signals of a cellular modem: ModemManager's documented output, read and sampled. No modem is here."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest

import multitracer as mt
from multitracer.parsers import counters
from multitracer.record import modem, plan, sampling

MODEM = "/org/freedesktop/ModemManager1/Modem/0"
GENERIC = {
    "access-technologies": ["lte", "5gnr"],
    "equipment-identifier": "490154203237518",
    "ports": ["cdc-wdm0 (qmi)", "ttyUSB2 (at)", "wwan0 (net)"],
    "signal-quality": {"recent": "yes", "value": "75"},
    "state": "connected",
}
"""As `mmcli -m 0 -J` prints it, with what names the device."""


def signals(rsrp: str, rate: str = "1") -> dict[str, object]:
    """As `mmcli -m 0 --signal-get -J` prints it (ModemManager 1.22)."""
    nothing = {"error-rate": "--", "rssi": "--"}
    return {
        "5g": {"error-rate": "--", "rsrp": "-98.00", "rsrq": "-11.00", "snr": "12.50"},
        "cdma1x": {"ecio": "--", **nothing},
        "evdo": {"ecio": "--", "io": "--", "sinr": "--", **nothing},
        "gsm": nothing,
        "lte": {"error-rate": "--", "rsrp": rsrp, "rsrq": "-9,00", "rssi": "-71.00", "snr": "--"},
        "refresh": {"rate": rate},
        "threshold": {"error-rate": "no", "rssi": "0"},
        "umts": {"ecio": "--", "rscp": "--", **nothing},
    }


def document(**parts: object) -> str:
    return json.dumps({"modem": parts}, separators=(",", ":"))


@pytest.fixture
def mmcli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as mmcli does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    answers = {
        "-L -J": json.dumps({"modem-list": [MODEM]}),
        f"-m {MODEM} -J": document(**{"3gpp": {"imei": "490154203237518"}, "generic": GENERIC}),
        f"-m {MODEM} --signal-get -J": document(signal=signals("-101.00", "0")),
    }
    program = folder / "mmcli"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint({answers!r}[' '.join(sys.argv[1:])])\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return program


def rows(path: Path) -> list[tuple[str, float, str]]:
    (link,) = counters.parse(str(path)).others
    assert link.source.layer == "link"
    series = link.tables["series"]
    return list(zip(series["name"].tolist(), series["value"].tolist(), series["label"].tolist(), strict=True))


def test_signals_of_a_loop_are_series_of_the_link(tmp_path: Path) -> None:
    path, text = tmp_path / "loop", ""
    for at in range(3):
        lte = document(signal=signals(f"-{100 + at}.50"))
        text += f'{1795000000 + at}.5\n{{"kernel":{{"TcpRetransSegs":5}}}}\n{lte}\n'
        text += f"{document(generic=GENERIC)}\n"
    path.write_text(text)
    found = rows(path)
    assert [value for name, value, label in found if (name, label) == ("rsrp_dbm", "LTE")] == [
        -100.5,
        -101.5,
        -102.5,
    ]
    assert set(found) >= {
        ("rsrp_dbm", -98.0, "5G"),
        ("rsrq_db", -9.0, "LTE"),  # with the decimal comma of a locale
        ("snr_db", 12.5, "5G"),
        ("rssi_dbm", -71.0, "LTE"),
        ("signal_quality_percent", 75.0, "LTE+5GNR"),
    }
    assert {name for name, _, label in found if label == "LTE"} == {"rsrp_dbm", "rsrq_db", "rssi_dbm"}
    assert {label for _, _, label in found} == {"LTE", "5G", "LTE+5GNR"}
    assert not counters.parse(str(path)).issues


def test_a_loop_of_mmcli_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "modem.log"
    path.write_text(f"1795000000.5\n{document(signal=signals('-100.50'))}\n")
    assert mt.open_trace(path).source.format == "counters"
    assert [one.layer for one in mt.read(path).sources] == ["kernel", "link"]


@pytest.mark.parametrize(
    "text",
    [
        '{"modem":{"signal":{"lte":{"rsrp":-100}}}}',
        '{"modem":{"signal":{"lte":{"rsrp":"1e400"}},"generic":{"signal-quality":{"recent":"no","value":"9"}}}}',
        '{"modem":{"signal":["lte"],"generic":{"signal-quality":{"recent":"yes","value":"250"}}}}',
        '{"modem":{"signal":{"lte":null},"generic":[]}}',
    ],
    ids=["a number", "no number, an old quality", "too much", "nothing"],
)
def test_what_is_no_value_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.write_text(f'1795000000.5\n{{"kernel":{{"TcpRetransSegs":5}}}}\n{text}\n')
    trace = counters.parse(str(path))
    assert (trace.others, trace.issues) == ([], [])


def test_the_modem_of_an_interface_is_found_by_its_port(mmcli: Path) -> None:
    assert modem.find("wwan0") == modem.Modem(MODEM, 0)
    assert modem.find("ppp0") == modem.Modem(MODEM, 0)
    assert modem.find("eth0") is None
    assert "--signal-setup=1" in plan.polling(modem.Modem(MODEM, 0))


def test_samples_have_the_radio_and_nothing_of_the_device(mmcli: Path, tmp_path: Path) -> None:
    found = modem.find("wwan0")
    assert found is not None
    asking = modem.Asking(found)
    take = sampling.counters("lo", asking)
    text = sampled(take, 2)
    asking.close()
    assert "490154203237518" not in text
    assert "ports" not in text
    path = tmp_path / "counters.log"
    path.write_text(text)
    assert set(rows(path)) >= {("rsrp_dbm", -101.0, "LTE"), ("signal_quality_percent", 75.0, "LTE+5GNR")}


def test_a_modem_that_does_not_answer_delays_no_sample(mmcli: Path) -> None:
    mmcli.write_text("#!/bin/sh\nexec sleep 60\n")
    asking = modem.Asking(modem.Modem(MODEM, 1))
    take = sampling.counters("lo", asking)
    out = BytesIO()
    for _ in range(3):
        take(out)
    assert out.getvalue().count(b'{"kernel":') == 3
    assert b"modem" not in out.getvalue()
    asking.close()


def test_without_mmcli_a_cellular_interface_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert modem.find("wwan0") is None
    (link,) = links("lo")
    assert link.source == plan.NO_LINK
    monkeypatch.setattr(plan, "looks_cellular", lambda _: True)
    (link,) = links("lo")
    assert (link.source, link.available, link.remedy) == ("mmcli", False, "install modemmanager")


def links(interface: str) -> Sequence[plan.Source]:
    return [one for one in plan.make(interface).sources if one.layer == "link"]


def sampled(take: Callable[[BinaryIO], None], documents: int) -> str:
    """Samples until the modem has answered so many times."""
    out = BytesIO()
    deadline = time.monotonic() + 30
    while out.getvalue().count(b'{"modem":') < documents:
        assert time.monotonic() < deadline
        take(out)
        time.sleep(0.02)
    return out.getvalue().decode()
