"""JSON logs as tools and people leave them: in another order, with times beyond reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multitracer.model.errors import CorruptTrace
from multitracer.parsers import iperf3, ndt7


def iperf3_document() -> dict[str, Any]:
    stream = {"socket": 5, "bytes": 1000, "snd_cwnd": 2000, "rtt": 900, "retransmits": 1, "sender": True}
    return {
        "start": {
            "connected": [
                {
                    "socket": 5,
                    "local_host": "10.0.0.1",
                    "local_port": 4000,
                    "remote_host": "10.0.0.2",
                    "remote_port": 5201,
                }
            ],
            "version": "iperf 3.17",
            "timestamp": {"timesecs": 1_700_000_000},
            "connecting_to": {"host": "10.0.0.2", "port": 5201},
            "tcp_mss_default": 1000,
            "test_start": {"protocol": "TCP", "duration": 2},
        },
        "intervals": [{"streams": [{**stream, "start": at, "end": at + 1}]} for at in range(2)],
        "end": {"sum_sent": {"bytes": 2000, "bits_per_second": 8000}},
    }


def ndt7_document(start: str, elapsed: int) -> str:
    info = {"ElapsedTime": elapsed, "SndCwnd": 10, "RTT": 5, "AppLimited": 2, "SndSsThresh": 0x7FFFFFFF}
    ends = {"Client": "10.0.0.2:50000", "Server": "10.0.0.1:443"}
    measured = [{"ConnectionInfo": ends, "TCPInfo": info}, {"ConnectionInfo": ends, "TCPInfo": {}}]
    part = {"UUID": "u", "StartTime": start, "ServerMeasurements": measured}
    return json.dumps({"GitShortCommit": "0", "Version": "v0", "Download": part})


def written(folder: Path, text: str) -> str:
    path = folder / "x.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_order_of_keys_does_not_matter(tmp_path: Path) -> None:
    found = [
        iperf3.parse(written(tmp_path, json.dumps(iperf3_document(), sort_keys=sort, indent=indent)))
        for sort, indent in ((False, None), (True, 2))
    ]
    one, other = (trace.tables["tcp_states"] for trace in found)
    for name in one.columns:
        assert one[name].tolist() == other[name].tolist()
    assert one["app_written"].tolist() == [1037, 2037]
    assert one["retrans_total"].tolist() == [1, 2]
    assert (one["srtt_ns"].tolist(), one["cwnd"].tolist()) == ([900_000] * 2, [2] * 2)
    assert found[0].source.details == found[1].source.details
    assert found[0].source.details["sum_sent"]["bytes"] == 2000
    assert not found[0].issues


def test_an_error_is_told(tmp_path: Path) -> None:
    text = json.dumps({"start": {"connected": []}, "intervals": [], "error": "unable to connect"})
    with pytest.raises(CorruptTrace, match="unable to connect"):
        iperf3.parse(written(tmp_path, text))


def test_measurements_of_ndt7(tmp_path: Path) -> None:
    trace = ndt7.parse(written(tmp_path, ndt7_document("2026-11-21T08:00:00.5Z", 1500)))
    states = trace.tables["tcp_states"]
    assert trace.source.first_ns == 1_795_248_000_501_500_000
    assert [states[name].tolist() for name in ("cwnd", "srtt_ns", "app_limited", "ssthresh", "rto_ns")] == [
        [10],
        [5000],
        [-1],
        [-1],
        [-1],
    ]
    assert [(issue.code, issue.count, issue.first_record) for issue in trace.issues] == [("bad-number", 1, 2)]


def test_times_beyond_what_can_be_counted(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match="no server measurement"):
        ndt7.parse(written(tmp_path, ndt7_document("2262-04-11T23:47:16Z", 1 << 50)))
