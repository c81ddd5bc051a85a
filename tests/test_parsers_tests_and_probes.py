"""ping, iperf as printed, Flent and Mahimahi; files in two formats; programs that quote logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import support_format_samples as samples

import multitracer as mt
from multitracer.model.errors import UnknownFormat
from multitracer.parsers import flent, iperf3text, mahimahi, ping
from multitracer.reading.opening import open_trace

FORMATS = Path(__file__).parent / "data" / "formats"


def named(trace: mt.Trace, name: str, label: str | None = None) -> list[tuple[int, float]]:
    series = trace.tables["series"]
    rows = (series["name"] == name) & ((series["label"] == label) if label is not None else True)
    return list(zip(series["t_ns"][rows].tolist(), series["value"][rows].tolist(), strict=True))


def test_ping_with_times_of_day() -> None:
    trace = ping.parse(str(FORMATS / "ping" / "stamped.txt"))
    assert [value for _, value in named(trace, "rtt_ms")] == [20.1, 21.4, 88.0, 24.2, 20.6]
    assert len(named(trace, "probe_lost")) == 3  # one has its line, two are gaps
    assert trace.source.clock == "realtime"
    assert trace.source.details["lost"] == 3
    assert not trace.issues


def test_ping_without_times(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    lines = [f"64 bytes from 1.1.1.1: icmp_seq={seq} ttl=59 time={seq}.5 ms" for seq in (1, 2, 5)]
    total = "5 packets transmitted, 3 received, 40% packet loss, time 800ms"
    path.write_text("\n".join([*lines, lines[0], "", total]) + "\n")
    trace = ping.parse(str(path))
    assert [t for t, _ in named(trace, "rtt_ms")] == [1_500_000, 202_500_000, 805_500_000]
    assert [t for t, _ in named(trace, "probe_lost")] == [400_000_000, 600_000_000]
    assert trace.source.details["duplicates"] == 1
    assert [issue.code for issue in trace.issues] == ["no-date"]


def test_pings_numbers_wrap(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    path.write_text("".join(f"64 bytes from h: icmp_seq={s} ttl=9 time=1 ms\n" for s in (65534, 65535, 0, 1)))
    trace = ping.parse(str(path))
    assert named(trace, "probe_lost") == []
    assert [t // 10**9 for t, _ in named(trace, "rtt_ms")] == [0, 1, 2, 3]


def test_iperf3_as_printed() -> None:
    trace = iperf3text.parse(str(FORMATS / "iperf3-text" / "parallel.txt"))
    label = "[5] 10.77.0.1:42244 > 10.77.0.2:5201"
    assert named(trace, "throughput_bps", label) == [
        (1_000_000_000, 5.18e6),
        (2_000_000_000, 5.24e6),
        (3_000_000_000, 5.08e6),
    ]
    assert [value for _, value in named(trace, "retransmissions", label)] == [5, 1, 0]
    assert named(trace, "cwnd_bytes", label)[0][1] == pytest.approx(16.7 * 1024)
    # The totals, of both streams, are no intervals.
    assert trace.source.details["sum_sent"] == {"bytes": 2.41 * 1024**2, "bits_per_second": 10.1e6}
    assert trace.source.details["streams"] == 2


def test_iperf3_with_times_of_day(tmp_path: Path) -> None:
    path = tmp_path / "iperf3.txt"
    lines = samples.IPERF3_TEXT.splitlines()
    path.write_text("".join(f"{1795249751 + at // 6} {line}\n" for at, line in enumerate(lines)))
    trace = iperf3text.parse(str(path))
    assert trace.source.clock == "realtime"
    assert trace.source.details["starts_ns"] == 1_795_249_750 * 10**9


def test_iperf_2_and_its_total() -> None:
    trace = iperf3text.parse(str(FORMATS / "iperf3-text" / "iperf2.txt"))
    assert [value for _, value in named(trace, "throughput_bps")] == [1.05e6, 0.0, 2.10e6]
    assert trace.source.details["sum_sent"]["bits_per_second"] == 1.05e6


def test_several_tests_of_a_server(tmp_path: Path) -> None:
    path = tmp_path / "server.txt"
    path.write_text(samples.IPERF3_TEXT + samples.IPERF3_TEXT)
    trace = iperf3text.parse(str(path))
    assert trace.source.last_ns == 3 * 10**9
    assert "unparsed-line" in {issue.code for issue in trace.issues}


def test_flent(tmp_path: Path) -> None:
    trace = flent.parse(str(FORMATS / "flent" / "upload.flent"))
    assert named(trace, "throughput_bps", "TCP upload::1")[1] == (1_795_249_751_700_000_000, 8.1e6)
    assert len(named(trace, "throughput_bps", "TCP upload::2")) == 19  # one is null
    assert len(named(trace, "srtt_ms", "TCP upload::1")) == 20
    assert named(trace, "throughput_bps", "TCP upload::avg") == []
    packed = tmp_path / "upload.flent.gz"
    packed.write_bytes(gzip.compress((FORMATS / "flent" / "upload.flent").read_bytes()))
    assert open_trace(packed).source.format == "flent"


def test_flent_takes_raw_values_where_there_are_any(tmp_path: Path) -> None:
    document = samples.flent_document()
    begin = 1_795_249_751.5
    document["raw_values"] = {
        "Ping (ms) ICMP": [{"t": begin + 0.01 + 0.2 * at, "val": 20.5 + at, "seq": at} for at in range(3)],
        "TCP upload::1": [
            {"t": begin + 0.25, "val": 8.5, "dur": 0.25},
            {"t": begin + 0.26, "tcp_rtt": 25.125, "tcp_cwnd": 11},
            {"t": "never", "val": 1.0},
            {"t": begin + 0.55, "val": None},
        ],
    }
    document["results"]["TCP upload sum"] = document["results"]["TCP totals"] = [1.0] * 20
    path = tmp_path / "raw.flent"
    path.write_text(json.dumps(document))
    trace = flent.parse(str(path))
    assert named(trace, "rtt_ms", "Ping (ms) ICMP")[0] == (1_795_249_751_510_000_000, 20.5)
    assert named(trace, "throughput_bps", "TCP upload::1") == [(1_795_249_751_750_000_000, 8.5e6)]
    assert named(trace, "srtt_ms", "TCP upload::1") == [(1_795_249_751_760_000_000, 25.125)]
    assert named(trace, "cwnd", "TCP upload::1") == [(1_795_249_751_760_000_000, 11.0)]
    assert len(named(trace, "throughput_bps", "TCP upload::2")) == 19  # without raw values: the steps
    assert named(trace, "throughput_bps", "TCP upload sum") == []
    assert named(trace, "throughput_bps", "TCP totals") == []


def test_flent_before_version_4(tmp_path: Path) -> None:
    """Raw values had the unit of the tool, and T0 the zone of the host."""
    document = samples.flent_document()
    begin = 1_795_249_751.5
    document["version"] = 2
    document["metadata"]["SERIES_META"]["HTTP latency"] = {"UNITS": "ms"}
    document["metadata"]["T0"] = "2026-11-21T10:29:11.500000"  # two hours ahead of UTC
    document["results"] = {name: [50.0] * 20 for name in ("Ping (ms) UDP BE1", "HTTP latency")}
    document["raw_values"] = {
        "Ping (ms) UDP BE1": [{"t": begin, "val": 20.0, "dur": 0.2}, {"t": begin + 1, "val": 0, "dur": 0.2}],
        "HTTP latency": [{"t": begin + 0.5, "val": 0.0125}],
    }
    path = tmp_path / "old.flent"
    path.write_text(json.dumps(document))
    trace = flent.parse(str(path))
    assert named(trace, "rtt_ms", "Ping (ms) UDP BE1") == [(1_795_249_751_500_000_000, 50.0)]
    assert named(trace, "rtt_ms", "HTTP latency") == [(1_795_249_752_000_000_000, 12.5)]
    assert trace.source.first_ns == 1_795_249_751_500_000_000


def test_flent_version_1_keeps_raw_values_beside_the_metadata(tmp_path: Path) -> None:
    document = samples.flent_document()
    document["version"] = 1
    del document["raw_values"]
    point = {"t": 1_795_249_752.25, "val": 33.0}
    document["metadata"]["SERIES_META"]["Ping (ms) ICMP"]["RAW_VALUES"] = [point]
    path = tmp_path / "first.flent"
    path.write_text(json.dumps(document))
    assert named(flent.parse(str(path)), "rtt_ms", "Ping (ms) ICMP") == [(1_795_249_752_250_000_000, 33.0)]


def test_flent_without_a_time_of_day(tmp_path: Path) -> None:
    document = samples.flent_document()
    del document["metadata"]["T0"]
    path = tmp_path / "a.flent"
    path.write_text(json.dumps(document))
    trace = flent.parse(str(path))
    assert trace.source.clock == "unknown"
    assert trace.source.first_ns == 0
    assert "no-date" in {issue.code for issue in trace.issues}


def test_a_trace_of_a_link_is_its_capacity() -> None:
    trace = mahimahi.parse(str(FORMATS / "mahimahi" / "cellular.up"))
    rates = [rate for _, rate in named(trace, "capacity_bps")]
    assert rates[1:9] == [12e6] * 8
    assert rates[11:15] == [0.0] * 4
    assert rates[16:19] == [6e6] * 3
    # Nothing is lost: what the steps carry is what the lines say.
    assert sum(rates) * 0.1 / 8 == pytest.approx(1500 * trace.source.records)


def test_a_log_of_mm_link() -> None:
    trace = mahimahi.parse(str(FORMATS / "mahimahi" / "mm-link.log"))
    assert trace.source.clock == "realtime"
    assert [delay for _, delay in named(trace, "queue_delay_ms")] == [8.0, 10.0, 121.0]
    sums = {
        name: sum(rate for _, rate in named(trace, name)) * 0.1 / 8
        for name in ("capacity_bps", "delivered_bps", "arrived_bps")
    }
    assert sums == pytest.approx(
        {"capacity_bps": 4 * 1504, "delivered_bps": 3 * 1504, "arrived_bps": 3 * 1504}
    )


def test_packets_and_variables_in_one_file(tmp_path: Path) -> None:
    packets = gzip.decompress((FORMATS / "ns2" / "wired.tr.gz").read_bytes()).decode().splitlines()
    variables = (
        gzip.decompress((FORMATS / "ns2-variables" / "manet.tr.gz").read_bytes()).decode().splitlines()
    )
    rows = [(float(line.split()[1]), line) for line in packets]
    rows += [(float(line.split()[0]), line) for line in variables]
    path = tmp_path / "both.tr"
    path.write_text("".join(line + "\n" for _, line in sorted(rows, key=lambda row: row[0])))
    m = mt.read(path)
    assert {source.format for source in m.sources} == {"ns2", "ns2-variables"}
    assert not {issue.code for issue in m.issues} & {"unparsed-line", "bad-number"}
    found = mt.analyze(m).to_dict()["other"]["packet_drops"]
    assert found["total"] == sum(line.startswith("d ") for line in packets) == 30


@pytest.mark.parametrize(
    "head",
    [
        "#!/usr/bin/env python3\n",
        '"""A script."""\n',
        "# plots a log\nimport re, sys\n",
        "from pathlib import Path\n",
        "#include <stdio.h>\n",
        "set ns [new Simulator]\n",
    ],
)
def test_programs_that_quote_logs_are_no_logs(tmp_path: Path, head: str) -> None:
    path = tmp_path / "plot.py"
    line = "2.221032535 10.0.0.2:39815 10.0.0.1:5001 32 0x1a2a710c 0x1a2a387c 11 2147483647 14592 85\n"
    path.write_text(head + line * 3)
    with pytest.raises(UnknownFormat):
        open_trace(path)
    path.write_text(line * 3)
    assert open_trace(path).source.format == "tcpprobe"
