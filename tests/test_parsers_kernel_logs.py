"""Kernel logs: exact values, dirty files, and each joined to a capture of the same transfer.

The tcpprobe and siftr logs are constructed out of a sample's tcp_probe events (tests/support_kernel_logs.py).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support_format_samples as made
import support_kernel_logs as kernel_logs
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.trace import Flow, Trace

OPENED_NS = 5_000_000
WALL_NS = 10**18


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def row(trace: Trace, at: int = 0, table: str = "tcp_states") -> dict[str, int]:
    return {name: int(trace.tables[table][name][at]) for name in trace.tables[table]}


def codes(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues}


# tcpprobe


@pytest.mark.parametrize("name", SAMPLE_NAMES)
@pytest.mark.parametrize("unit_us", [1, 1000, 4000, 10000])
def test_tcpprobe_tells_the_unit_of_srtt(name: str, unit_us: int, tmp_path: Path) -> None:
    probes = kernel_logs.probes(SAMPLES / name / "tcp_probe.txt.gz")
    first, _ = kernel_logs.span_ns(probes)
    lines = kernel_logs.tcpprobe_lines(probes, first - OPENED_NS, unit_us)
    trace = mt.open_trace(written(tmp_path, "cwnd.txt", lines))
    assert codes(trace) == {"guessed-unit": 1}
    wanted = probes.tables["tcp_states"]["srtt_ns"]
    assert np.all(np.abs(trace.tables["tcp_states"]["srtt_ns"] - wanted) < unit_us * 1000)
    assert trace.source.clock == "unknown"


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_tcpprobe_and_siftr_join_the_capture_where_the_kernel_log_does(name: str, tmp_path: Path) -> None:
    sample = SAMPLES / name
    probes = kernel_logs.probes(sample / "tcp_probe.txt.gz")
    first, _ = kernel_logs.span_ns(probes)
    log = written(tmp_path, "cwnd.txt", kernel_logs.tcpprobe_lines(probes, first - OPENED_NS))
    siftr = written(tmp_path, "siftr.log", kernel_logs.siftr_lines(probes, WALL_NS))
    known = mt.read(sample / "snd.pcap", sample / "tcp_probe.txt.gz").clocks[1].offset_ns
    clocks = mt.read(sample / "snd.pcap", log, siftr).clocks
    assert [clock.grade for clock in clocks] == ["reference", "accurate", "accurate"]
    assert [clock.method for clock in clocks[1:]] == ["ack-match", "ack-match"]
    assert clocks[1].offset_ns == pytest.approx(known + first - OPENED_NS, abs=20_000)
    assert clocks[2].offset_ns == pytest.approx(known - WALL_NS, abs=20_000)


def test_tcpprobe_by_the_user(tmp_path: Path) -> None:
    path = written(tmp_path, "log", "1.5 R 10.0.0.1:1 10.0.0.2:2 9 70\n1.6 R 10.0.0.1:1 10.0.0.2:2 8 80\n")
    toml = tmp_path / "measurement.toml"
    stated = '[sources."log"]\nformat = "tcpprobe"\ncolumns = ["time", "-", "src", "dst", "cwnd", "srtt"]\n'
    toml.write_text(stated + 'units = { srtt = "jiffies_250" }\n')
    trace = mt.read(tmp_path).traces[0]
    assert row(trace, 1)["cwnd"] == 8
    assert row(trace, 1)["srtt_ns"] == 320_000_000
    assert not trace.issues
    toml.write_text(stated.replace("cwnd", "nonsense"))
    with pytest.raises(UsageError, match="nonsense"):
        mt.read(path, toml)
    toml.write_text(stated + 'units = { srtt = "hours" }\n')
    with pytest.raises(UsageError, match="hours"):
        mt.read(path, toml)


def test_tcpprobe_dirty(tmp_path: Path) -> None:
    line = "0.{} 10.0.0.1:1 10.0.0.2:2 32 0x10 0x8 10 2147483647 100 7"
    text = "\n".join(
        ["cat: /proc/net/tcpprobe: busy", line.format(9), line.format(5), line.format(6) + " 1" * 9, ""]
    )
    trace = mt.open_trace(written(tmp_path, "log", text))
    assert codes(trace) == {
        "unparsed-line": 1,
        "out-of-order-lines": 1,
        "unknown-version": 1,
        "unknown-unit": 1,
    }
    assert trace.tables["tcp_states"]["t_ns"].tolist() == [500_000_000, 600_000_000, 900_000_000]
    assert np.all(trace.tables["tcp_states"]["srtt_ns"] == -1)


# siftr


@pytest.mark.parametrize("version", ["1.2.2", "1.2.4", "1.3.0"])
def test_siftr_versions(version: str, tmp_path: Path) -> None:
    probes = kernel_logs.probes(SAMPLES / "flow-control" / "tcp_probe.txt.gz")
    lines = kernel_logs.siftr_lines(probes, 0, version)
    trace = mt.open_trace(written(tmp_path, "siftr.log", lines))
    found, wanted = trace.tables["tcp_states"], probes.tables["tcp_states"]
    assert not trace.issues
    assert trace.source.details["version"] == version
    assert np.array_equal(found["cwnd"], wanted["cwnd"])
    assert np.array_equal(found["ssthresh"], wanted["ssthresh"])
    assert np.all(np.abs(found["srtt_ns"] - wanted["srtt_ns"]) <= 32_000)
    assert set(found["rto_ns"].tolist()) == {300_000_000}
    assert set(found.words("trigger")) == {"received"}


def test_siftr_without_its_first_line_has_no_units(tmp_path: Path) -> None:
    probes = kernel_logs.probes(SAMPLES / "flow-control" / "tcp_probe.txt.gz")
    lines = kernel_logs.siftr_lines(probes, 0).splitlines(keepends=True)
    trace = mt.open_trace(written(tmp_path, "siftr.log", "".join(lines[1:])))
    assert codes(trace) == {"unknown-unit": 1}
    assert np.all(trace.tables["tcp_states"]["srtt_ns"] == -1)
    skipped = "disable_time_secs=9\tnum_inbound_skipped_pkts_malloc=7\n"
    trace = mt.open_trace(written(tmp_path, "siftr.log", "".join([*lines, lines[1] + ",1,2,3,4\n", skipped])))
    assert codes(trace)["lost-events"] == 7


def test_siftr_of_the_manual(shared: Path) -> None:
    trace = mt.open_trace(shared / "samples" / "siftr" / "siftr_1.2.2_manpage_joined.log")
    assert trace.flows == [Flow("172.16.7.28", 22, "172.16.2.5", 55931)]
    found = row(trace)
    # siftr(4): srtt 936 in units of 1/32 tick of 1 ms; rto 255 ticks
    assert (found["srtt_ns"], found["rto_ns"]) == (29_250_000, 255_000_000)
    assert trace.source.details["counts"]["total_tcp_pkts"] == 983


# iperf3


def test_iperf3_document_and_stream_say_the_same(tmp_path: Path) -> None:
    document = written(tmp_path, "a.json", json.dumps(made.iperf3_document()))
    stream = written(tmp_path, "b.json", made.iperf3_stream())
    first, second = mt.open_trace(document), mt.open_trace(stream)
    for name in set(first.tables["tcp_states"]) - {"record"}:
        assert np.array_equal(first.tables["tcp_states"][name], second.tables["tcp_states"][name]), name
    found = row(first, 1)
    assert (found["cwnd"], found["srtt_ns"], found["retrans_total"]) == (11, 20_001_000, 1)
    assert found["app_written"] == 37 + 131072 * 3
    assert found["t_ns"] == 1_795_249_752_000_000_000
    assert first.flows == [Flow(*made.LOCAL, *made.REMOTE)]


def test_iperf3_cut_several_and_strange(tmp_path: Path) -> None:
    text = json.dumps(made.iperf3_document())
    cut = mt.open_trace(written(tmp_path, "a.json", text[: text.index('"end": 2.0')]))
    assert codes(cut) == {"truncated-file": 1}
    assert cut.source.records == 3
    two = mt.open_trace(written(tmp_path, "b.json", f"{text}\n{text}"))
    assert two.source.records == 12
    document = made.iperf3_document()
    document["intervals"][1]["streams"][0] |= {"rtt": float("nan"), "snd_cwnd": 10**400, "end": 1.0}
    document["intervals"][2]["streams"][0]["end"] = "soon"
    odd = mt.open_trace(written(tmp_path, "c.json", json.dumps(document)))
    assert codes(odd) == {"bad-number": 1}
    assert (row(odd, 1)["srtt_ns"], row(odd, 1)["cwnd"]) == (-1, -1)
    refused = {"start": made.iperf3_document()["start"], "intervals": [], "error": "unable to connect"}
    with pytest.raises(CorruptTrace, match="unable to connect"):
        mt.open_trace(written(tmp_path, "d.json", json.dumps(refused)))


def test_iperf3_receiver_and_omitted_seconds(tmp_path: Path) -> None:
    document = made.iperf3_document()
    for at, interval in enumerate(document["intervals"]):
        stream = interval["streams"][0]
        for key in ("snd_cwnd", "snd_wnd", "rtt", "rttvar", "retransmits"):
            del stream[key]
        # -O 1: the time begins anew
        stream |= {"sender": False, "omitted": at < 2, "start": at % 2 * 0.5, "end": at % 2 * 0.5 + 0.5}
    del document["start"]["connecting_to"]
    trace = mt.open_trace(written(tmp_path, "a.json", json.dumps(document)))
    base = 1_795_249_751_000_000_000
    assert ((trace.tables["tcp_states"]["t_ns"] - base) / 1e9).tolist() == [0.5, 1, 1.5, 2, 2.5, 3]
    assert row(trace)["app_read"] == 37 + 131072
    assert row(trace)["app_written"] == -1
    assert trace.source.details["side"] == "server"


def test_iperf3_joins_the_capture_by_what_it_wrote(tmp_path: Path) -> None:
    """Constructed: what iperf3 would have written of a sample's transfer."""
    sample = SAMPLES / "flow-control"
    capture = mt.open_trace(sample / "snd.pcap")
    segments, summary = capture.tables["segments"], capture.connections[0]
    data = np.flatnonzero((segments["length"] > 0) & (segments["dir"] == 0))
    sent, t_ns = segments["seq"][data] + segments["length"][data] - 1, segments["t_ns"][data]
    ends = [f"{end}" for end in summary["endpoints"]]
    flow = [end.rpartition(":") for end in ends] if isinstance(summary["endpoints"][0], str) else None
    (local, local_port), (remote, remote_port) = (
        [(host.strip("[]"), int(port)) for host, _, port in flow] if flow else summary["endpoints"]
    )
    document: Any = made.iperf3_document()
    document["start"]["connected"][0] |= {
        "local_host": local,
        "local_port": local_port,
        "remote_host": remote,
        "remote_port": remote_port,
    }
    document["start"]["test_start"]["blksize"] = 1024
    begin = int(t_ns[np.searchsorted(sent, 37, side="right")])
    document["start"]["timestamp"]["timesecs"] = 1_000_000_000
    intervals, last = [], 37
    for second in range(10):
        now = int(sent[np.searchsorted(t_ns, begin + (second + 1) * 10**9) - 1])
        stream = dict(document["intervals"][0]["streams"][0])
        stream |= {"start": float(second), "end": second + 1.0, "bytes": max(now - last, 0)}
        intervals.append({"streams": [stream]})
        last = max(now, last)
    document["intervals"] = intervals
    log = written(tmp_path, "iperf3.json", json.dumps(document))
    clock = mt.read(sample / "snd.pcap", log).clocks[1]
    assert clock.method == "ack-match"
    assert clock.offset_ns == pytest.approx(begin - 10**18, abs=60_000_000)


def test_iperf3_of_the_program(shared: Path) -> None:
    trace = mt.open_trace(shared / "samples" / "iperf3" / "iperf3_cubic.json")
    assert trace.flows == [Flow("10.77.0.1", 42244, "10.77.0.2", 5201)]
    assert row(trace)["cwnd"] == 17376 // 1448
    assert row(trace, -1)["app_written"] == trace.source.details["sum_sent"]["bytes"] + 37


# tcp-info, NDT7


def test_tcpinfo_reads_a_struct_of_any_length(tmp_path: Path) -> None:
    values = {"acked": 7, "sent": 9, "cwnd": 10, "mss": 1448, "srtt_us": 20, "rto_us": 30, "retrans": 2}
    record = json.loads(made.tcpinfo_lines(1).splitlines()[1])
    lines = []
    for length in (*range(0, 241, 3), 240):
        record["Attributes"][2] = base64.b64encode(made.tcp_info(values, length)).decode() or None
        lines.append(json.dumps(record))
    trace = mt.open_trace(written(tmp_path, "log", "\n".join([*lines, ""])))
    whole = row(trace, -1)
    assert (whole["bytes_acked"], whole["bytes_sent"], whole["srtt_ns"]) == (7, 9, 20_000)
    assert (whole["rto_ns"], whole["mss"], whole["retrans_total"], whole["notsent"]) == (30_000, 1448, 2, 0)
    for at in range(len(lines) - 1):
        part = row(trace, at)
        assert all(part[name] in (-1, value) for name, value in whole.items() if name != "record")
    assert [name for name, value in row(trace, 0).items() if value != -1 and name.endswith("_ns")] == ["t_ns"]


def test_tcpinfo_dirty(tmp_path: Path) -> None:
    lines = made.tcpinfo_lines(5).splitlines()
    lines[2] = lines[2].replace('"RawIDM": "', '"RawIDM": "!')
    record = json.loads(lines[3])
    record["Attributes"] = [None, None, None]
    lines[3] = json.dumps(record)
    lines += ["Killed", '{"RawIDM": 5, "Timestamp": []}', "[" * 3000, lines[1]]
    trace = mt.open_trace(written(tmp_path, "log", "\n".join([*lines, ""])))
    assert codes(trace) == {"bad-number": 2, "out-of-order-lines": 1, "unparsed-line": 2}
    assert trace.source.details["snapshots_without_tcp_info"] == 1
    assert trace.flows == [Flow(*made.LOCAL, *made.REMOTE)]
    assert row(trace)["ssthresh"] == -1


def test_real_tests_of_m_lab(shared: Path) -> None:
    folder = shared / "samples" / "mlab"
    trace = mt.open_trace(next(folder.glob("*2C35*.zst")))
    last = row(trace, -1)
    assert (trace.source.records, last["bytes_acked"], last["mss"]) == (650, 6540, 1408)
    download = mt.open_trace(next(folder.glob("ndt7-download*")))
    assert row(download, -1)["bytes_acked"] == 95_049_504
    assert download.flows[0].local_port == 443


def test_ndt7_wrong_types(tmp_path: Path) -> None:
    document = made.ndt7_document()
    measured = document["Download"]["ServerMeasurements"]
    measured[0]["TCPInfo"] = []
    measured[1]["TCPInfo"]["ElapsedTime"] = "x"
    measured[2]["ConnectionInfo"] = {"Server": 5}
    measured[3] = None
    trace = mt.open_trace(written(tmp_path, "a.json", json.dumps(document)))
    assert codes(trace) == {"bad-number": 4}
    assert trace.source.records == 4
    document["Download"]["StartTime"] = "yesterday"
    with pytest.raises(CorruptTrace, match="no server measurement"):
        mt.open_trace(written(tmp_path, "a.json", json.dumps(document)))


def test_json_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.json", json.dumps(made.ndt7_document()))
    monkeypatch.setenv("MULTITRACER_MAX_JSON_BYTES", "1000")
    with pytest.raises(CorruptTrace, match="MULTITRACER_MAX_JSON_BYTES"):
        mt.open_trace(path)


# bcc


def test_tcpretrans_over_midnight(tmp_path: Path) -> None:
    trace = mt.open_trace(written(tmp_path, "log", made.BCC + "noise\n"))
    assert codes(trace) == {"no-date": 4, "unparsed-line": 1}
    assert trace.source.details["packets_by_kind"] == {
        "retransmissions": 3,
        "tail_loss_probes": 1,
        "state_changes": 0,
    }
    times = trace.tables["kernel_events"]["t_ns"] // 10**9
    assert np.diff(times).tolist() == [1, 2, 1]
    assert trace.flows[1] == Flow("2001:db8::1", 443, "2001:db8::2", 50000)
    assert trace.tables["kernel_events"]["value"].tolist() == [1, 1, 4, 2]


def test_tcpstates(tmp_path: Path) -> None:
    trace = mt.open_trace(written(tmp_path, "log", made.TCPSTATES))
    events = trace.tables["kernel_events"]
    assert events["old_value"].tolist() == [7, 2, 1]
    assert events["value"].tolist() == [2, 1, 4]
    assert set(events.words("kind")) == {"sock_state"}
    untimed = made.TCPSTATES.replace("TIME,", "").replace("18:15:3", "")
    with pytest.raises(CorruptTrace, match="-T"):
        mt.open_trace(written(tmp_path, "log", untimed))


def test_triggers_are_those_of_the_core() -> None:
    assert schema.TRIGGERS == ("", "received", "sent")
