"""Numbers of the radio: LENA's PHY and MAC, OpenAirInterface's statistics; a phone's log is recognised."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support_modem import Pdu, binary

import multitracer as mt
from multitracer.api.inventory import column_map, inspect
from multitracer.model.errors import CorruptTrace, UnknownFormat
from multitracer.model.trace import Trace

FORMATS = Path(__file__).parent / "data" / "formats"
SECOND = 10**9


def values(trace: Trace, name: str, label: str) -> list[tuple[float, float]]:
    series = trace.tables["series"]
    mine = (series["name"] == name) & (series["label"] == label)
    return list(zip((series["t_ns"][mine] / 1e9).tolist(), series["value"][mine].tolist(), strict=True))


def test_rsrp_and_cells_of_lena() -> None:
    trace = mt.open_trace(FORMATS / "ns3-lena-phy" / "DlRsrpSinrStats.txt")
    assert (trace.source.format, trace.source.layer, trace.source.clock) == (
        "ns3-lena-phy",
        "link",
        "simulation",
    )
    rsrp = values(trace, "rsrp_dbm", "IMSI 1")
    assert len(rsrp) == 120
    assert [value for _, value in rsrp[::60]] == pytest.approx([-70, -100], abs=1e-4)
    assert values(trace, "sinr_db", "IMSI 2")[0][1] == pytest.approx(30)
    assert [(round(t, 3), value) for t, value in values(trace, "cell", "IMSI 1")] == [(0.0, 1), (6.0, 2)]
    assert len(values(trace, "cell", "IMSI 2")) == 1


def test_blocks_of_lena() -> None:
    trace = mt.open_trace(FORMATS / "ns3-lena-phy" / "DlMacStats.txt")
    assert values(trace, "dl_mcs", "IMSI 1") == [(0.3, 28), (0.301, 26), (0.302, 20)]
    assert values(trace, "dl_transport_block_bytes", "IMSI 1")[0] == (0.3, 2196)


def test_statistics_of_a_base_station() -> None:
    trace = mt.open_trace(FORMATS / "oai" / "gnb.log")
    label = "RNTI 3a5f"
    rsrp = values(trace, "rsrp_dbm", label)
    # Every 128 frames of 10 ms, also where their numbers begin anew.
    assert np.diff([t for t, _ in rsrp]) == pytest.approx(np.full(11, 1.28))
    assert [value for _, value in rsrp] == [-80 - at for at in range(12)]
    assert [value for _, value in values(trace, "dl_mcs", label)] == [27 - at for at in range(12)]
    assert [value for _, value in values(trace, "dl_blocks", label)] == [600 - 40 * at for at in range(1, 12)]
    assert [value for _, value in values(trace, "dl_harq_repeats", label)] == [6 * at for at in range(1, 12)]
    assert values(trace, "dl_mac_bps", label)[0][1] == pytest.approx((800_000 - 60_000) * 8 / 1.28)
    assert values(trace, "ul_snr_db", label)[-1][1] == 14.5
    assert [issue.code for issue in trace.issues] == ["no-date"]


def test_blocks_of_amarisofts_base_station() -> None:
    trace = mt.open_trace(FORMATS / "amarisoft" / "gnb0.log.gz")
    label, midnight = "UE 0001", 86_390
    rate = values(trace, "dl_phy_bps", label)
    assert [t for t, _ in rate] == pytest.approx(
        [midnight + at + 0.9 for at in range(24)]
    )  # and past midnight
    # The first second: ten blocks of 2,000 to 1,910 bytes; in the 11th, four of ten are repeated.
    assert rate[0][1] == 8 * sum(2000 - 10 * at for at in range(10))
    assert [value for _, value in values(trace, "dl_harq_repeats", label)][:12:5] == [0, 2, 4]
    assert [value for _, value in values(trace, "dl_blocks", label)][:12:5] == [10, 8, 6]
    assert [value for _, value in values(trace, "ul_bler", label)][:12:5] == [0, 0.2, 0.4]
    assert not values(trace, "dl_bler", label)  # the base station does not know
    assert values(trace, "ul_snr_db", label)[0][1] == pytest.approx(26 - 0.45)
    assert [value for _, value in values(trace, "cqi", label)][:4] == [15, 14, 13, 12]
    assert values(trace, "cell", label) == [(midnight, 1), (midnight + 12, 2)]
    assert trace.source.details["rrc_messages"] == {"RRC reconfiguration": 1}
    assert trace.source.details["lines_by_layer"] == {"MAC": 240, "PHY": 492, "RRC": 1}
    assert [issue.code for issue in trace.issues] == ["no-date"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("25:00:00.000 [PHY] DL 0001 01 4601 1.3 PDSCH: tb_len=1", "bad-number"),
        ("no line of this format", "unparsed-line"),
    ],
)
def test_damaged_lines_of_amarisoft_are_counted(line: str, code: str, tmp_path: Path) -> None:
    good = "10:00:00.000 [PHY] DL 0001 01 4601 1.3 PDSCH: harq=0 CW0: tb_len=100 retx=0\n"
    strange = "10:00:00.500 [PHY] DL 0001 01 4601 2.3 PDSCH: harq=0 CW0: tb_len=1e9 retx=x crc= snr=nan\n"
    other = "10:00:00.600 [PHY] DL f000 01 ffff 3.3 PDSCH: harq=si CW0: tb_len=100 crc=OK\n"
    path = tmp_path / "log"
    path.write_text(good * 3 + strange + other + line + "\n")
    trace = mt.open_trace(path)
    assert values(trace, "dl_phy_bps", "UE 0001") == [(36000.5, 2400)]
    assert [(issue.code, issue.first_record) for issue in trace.issues] == [(code, 6), ("no-date", 3 + 1 - 3)]


def test_a_log_of_amarisoft_without_blocks_says_what_to_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("10:00:00.000 [NAS] -  0001 New state : 5GMM-NULL   CM-IDLE\n" * 4)
    with pytest.raises(CorruptTrace, match=r"phy\.level=info"):
        mt.open_trace(path)


def test_the_log_of_a_modem_is_recognised_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "log"
    start = 1_700_000_000 * SECOND
    path.write_bytes(binary([Pdu(start + at * 10**7, at % 2 == 0, at, 80) for at in range(30)]))
    assert mt.open_trace(path).source.format == "mobileinsight"


def test_a_column_map_of_a_capture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(32))
    with pytest.raises(CorruptTrace, match="not a text table"):
        column_map(str(path))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"snoop\0\0\0" + bytes(8), "snoop"),
        (b"GMBU" + bytes(40), "Network Monitor"),
        (4 * (bytes(8) + b"\2\4" + struct.pack(">HHH", 80, 0, 60) + bytes(64)), "ERF"),
    ],
)
def test_a_capture_that_other_tools_convert_is_refused_with_the_command(
    tmp_path: Path, content: bytes, name: str
) -> None:
    path = tmp_path / "a.cap"
    path.write_bytes(content)
    with pytest.raises(UnknownFormat, match=rf"{name}.*editcap -F pcap"):
        mt.open_trace(path)


def test_a_table_of_two_layers_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from multitracer.cli.files import info_table

    rows = "".join(f"{1_700_000_000 + at},{-80 - at},{at * 1e6}\n" for at in range(30))
    (tmp_path / "drive.csv").write_text("time,rsrp,rate\n" + rows)
    (tmp_path / "measurement.toml").write_text(
        '[sources."drive.csv"]\nformat = "csv"\ntime = "time"\ntime_format = "s"\n'
        '[sources."drive.csv".series]\n'
        'rsrp_dbm = { column = "rsrp", layer = "link" }\n'
        'throughput_bps = { column = "rate", layer = "kernel" }\n'
    )
    found = inspect([tmp_path])
    assert [trace.source.layer for trace in found.traces] == ["link", "kernel"]
    info_table(found)
    assert capsys.readouterr().out.count("drive.csv") == 1
