"""The way of packets and the calls of applications, out of tracepoints made by hand."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_host import events
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.cli.host import lines as host_lines
from multitracer.diagnosis.explain import explain
from multitracer.layers.host import calls
from multitracer.layers.host.packets import dropped, dropped_by_driver, refused, ways
from multitracer.layers.host.segments import join
from multitracer.layers.host.sockets import unwritten
from multitracer.layers.logged.flows import uncaptured
from multitracer.model import schema, toml
from multitracer.model.errors import CorruptTrace
from multitracer.model.table import Table
from multitracer.parsers import counters, ftrace
from multitracer.plots.plot import PlotOptions
from multitracer.record.packetsocket import PcapngWriter
from multitracer.record.sampling import pause_s
from multitracer.record.session import ports_of
from multitracer.report.host_tables import host_tables


def test_one_address_serves_two_packets() -> None:
    table, elsewhere = ways(
        events(
            ("queue", 0, 7, {"length": 1514}),
            ("enqueue", 1, 7, {"value": 0x10000}),
            ("dequeue", 901, 7, {"value": 0x10000, "length": 1}),
            ("start_xmit", 902, 7, {"length": 1514, "value": 14, "extra": 0}),
            ("queue", 1000, 7, {"length": 66}),
            ("drop", 1001, 7, {"name": 0, "value": 0x0800}),
            ("drop", 1002, 9, {"name": 1, "value": 0x0800}),
            ("receive", 1003, 9, {"length": 52}),
        ),
        ["QDISC_DROP", "NO_SOCKET"],
    )
    assert len(table) == 3
    assert table["length"].tolist() == [1500, 52, 52]
    assert (table["dequeue_ns"] - table["enqueue_ns"]).tolist()[0] == 900_000
    assert table["drop_ns"].tolist() == [-1, 1_001_000, -1]
    assert table["reason"].tolist() == [-1, 0, -1]
    assert table["way"].tolist() == [0, 0, 1]
    assert elsewhere.drops.tolist() == [6]


def test_a_driver_that_refuses_keeps_the_packet_in_the_host() -> None:
    table, _ = ways(
        events(
            ("queue", 0, 7, {"length": 1514}),
            ("enqueue", 1, 7, {}),
            ("dequeue", 2, 7, {}),
            ("start_xmit", 3, 7, {"length": 1514, "value": 14}),
            ("xmit", 4, 7, {"value": 16}),
            ("dequeue", 500, 7, {}),
            ("start_xmit", 501, 7, {"length": 1514, "value": 14}),
        ),
        [],
    )
    assert len(table) == 1
    assert table["starts"].tolist() == [2]
    assert table["start_ns"].tolist() == [501_000]


def test_a_driver_that_drops_is_no_refusal() -> None:
    """veth answers NET_XMIT_DROP when the peer's CPU had no room: the packet is gone, and no other's."""
    rows = events(
        ("queue", 0, 7, {"length": 66}),
        ("start_xmit", 1, 7, {"length": 66, "value": 14}),
        ("drop", 2, 7, {"name": 0, "value": 0x0800}),
        ("xmit", 3, 7, {"value": 1}),
        ("queue", 10, 7, {"length": 66}),
        ("start_xmit", 11, 7, {"length": 66, "value": 14}),
        ("xmit", 12, 7, {"value": 16}),
        ("xmit", 13, 8, {"value": 2}),
        ("xmit", 14, 9, {"value": -105}),
    )
    table, elsewhere = ways(rows, ["CPU_BACKLOG"])
    assert (len(table), elsewhere.foreign, elsewhere.drops.tolist()) == (2, 0, [2])
    assert np.flatnonzero(refused(rows)).tolist() == [6]
    assert np.flatnonzero(dropped_by_driver(rows)).tolist() == [3, 8]


def test_pieces_cut_in_the_queue_have_the_time_of_the_whole() -> None:
    """Four segments in one, the last of which the queue dropped."""
    header, mss = 52, 1448
    whole = 14 + header + 4 * mss
    rows = [("queue", 0, 1, {"length": whole}), ("drop", 1, 99, {"name": 0}), ("enqueue", 2, 1, {})]
    for at in range(3):
        t_us = 100 * (at + 1)
        rows += [
            ("dequeue", t_us, 50 + at, {}),
            ("start_xmit", t_us + 1, 50 + at, {"length": 14 + header + mss, "value": 14}),
        ]
    table, elsewhere = ways(events(*rows), ["QDISC_DROP"])
    (whole,) = table["record"][table["parent"] < 0].tolist()
    pieces = table.where((table["parent"] == whole) & (table["dequeue_ns"] >= 0))
    assert (pieces["dequeue_ns"] - pieces["enqueue_ns"]).tolist() == [100_000, 200_000, 300_000]
    assert elsewhere.uncut == 0
    assert elsewhere.drops.tolist() == []
    lost = table.where(dropped(table))
    assert (lost["record"].tolist(), lost["parent"].tolist()) == ([2], [whole])


def test_a_drop_behind_a_packet_that_was_sent_is_of_another_interface() -> None:
    table, elsewhere = ways(
        events(
            ("queue", 0, 1, {"length": 1514}),
            ("start_xmit", 1, 1, {"length": 1514, "value": 14}),
            ("drop", 2, 1, {"name": 0}),
        ),
        ["QDISC_DROP"],
    )
    assert (np.count_nonzero(dropped(table)), elsewhere.drops.tolist()) == (0, [2])


def _joined(sent_us: list[int], captured_us: list[int], lengths: list[int]) -> tuple[list[int], int]:
    """Rows of segments by packet, and how many joins are ambiguous."""
    log = events(
        *[
            ("start_xmit", t_us, 10 + at, {"length": length + 14, "value": 14})
            for at, (t_us, length) in enumerate(zip(sent_us, lengths, strict=True))
        ]
    )
    packets, _ = ways(log, [])
    columns = {"t_ns": [t_us * 1000 for t_us in captured_us], "ip_length": lengths[: len(captured_us)]}
    segments = Table.filled(schema.SEGMENTS, len(captured_us), columns)
    found, ambiguous = join(packets, segments, np.ones(len(segments), dtype=bool))
    return found["capture"].tolist(), ambiguous


def test_joins_that_only_the_order_decides_are_counted() -> None:
    usual = [100 * at for at in range(8)]
    assert _joined(usual, [t_us + 2 for t_us in usual], [1500] * 8) == (list(range(8)), 0)
    late = [*usual[:5], 620, 640, 700]  # the capture stamps one when the next has been sent already
    assert _joined(usual, late, [1500] * 8) == (list(range(8)), 2)
    assert _joined(usual, late, [1500, 1400] * 4) == (list(range(8)), 0)
    assert _joined([0, 100], [], [1500, 1500]) == ([-1, -1], 0)


def test_a_write_that_blocks() -> None:
    log = events(
        ("sendmsg", 0, 0, {"length": 100_000}),
        ("sendmsg", 40_000, 0, {"length": 50_000}),
        ("send", 90_000, -1, {"length": 100_000, "sk": 3, "flow": 0, "value": 0}),
        ("sendmsg", 100_000, 0, {"length": 9_000}),
        ("send", 100_010, -1, {"length": 5_000, "sk": 3, "flow": 0, "value": 0}),
        ("sendmsg", 150_010, 0, {"length": 4_000}),
        ("send", 150_020, -1, {"length": 4_000, "sk": 3, "flow": 0, "value": 0}),
    )
    found = calls.calls(log)
    assert found["began_ns"].tolist() == [0, 100_000_000, 150_010_000]
    # 90 ms in the first call, and 50 ms after the second that took 5,000 of 9,000 bytes.
    assert calls.blocked_ns(calls.short_writes(log), found) == 90_000_000 + 10_000 + 50_000_000 + 10_000


def _calls(kind: int, *rows: tuple[int, int]) -> Table:
    names = {
        "t_ns": [t * 1_000_000 for t, _ in rows],
        "length": [n for _, n in rows],
        "kind": [kind] * len(rows),
    }
    return Table.filled(schema.HOST_CALLS, len(rows), names)


def test_a_reader_that_is_away() -> None:
    reads = _calls(1, (10, 1000), (500, 1000), (502, 500))
    ack_ns = np.array([9, 20, 501]) * 1_000_000
    ack = np.array([1000, 2000, 2500])
    assert calls.away(reads, ack_ns, ack, True) == [(20_000_000, 500_000_000)]
    assert calls.away(reads, ack_ns, ack + 7000, False) == [(20_000_000, 500_000_000)]
    assert calls.away(_calls(1), ack_ns, ack, True) == []


def test_a_writer_that_is_away() -> None:
    writes = _calls(0, (0, 1000), (200, 1000), (205, 1000))
    sent_ns, sent = np.array([1, 201, 206]) * 1_000_000, np.array([1000, 2000, 3000])
    assert calls.starved(writes, sent_ns, sent) == [(1_000_000, 200_000_000)]


KINDS = st.sampled_from(schema.HOST_KINDS)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(KINDS, st.integers(0, 50), st.integers(-1, 3), st.integers(-1, 70_000), st.integers(-1, 2)),
        max_size=40,
    )
)
def test_whatever_the_events_say(rows: list[tuple[str, int, int, int, int]]) -> None:
    """No event is in two packets, and no packet leaves the queue before it came."""
    log = events(
        *[
            (kind, t_us, skb, {"length": length, "name": name, "cpu": name})
            for kind, t_us, skb, length, name in sorted(rows, key=lambda row: row[1])
        ]
    )
    table, elsewhere = ways(log, ["QDISC_DROP", "TCP_CSUM"])
    assert len(table) + len(elsewhere.drops) <= len(log)
    both = (table["parent"] >= 0) & (table["dequeue_ns"] >= 0)
    assert np.all(table["dequeue_ns"][both] >= table["enqueue_ns"][both])
    for name in ("queue_ns", "start_ns", "receive_ns", "drop_ns"):
        assert np.all((table[name] == -1) | (table[name] >= table["t_ns"]))
    calls.calls(log)


def test_counters_of_a_loop(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.write_text(
        "1795000000.5\n"
        '{"kernel":{"TcpRetransSegs":5,"TcpMaxConn":-1}}\n'
        '[{"kind":"tbf","handle":"1:","drops":2,"backlog":1500,"qlen":1,"options":{"rate":9}}]\n'
        '[{"ifname":"eth0","stats64":{"rx":{"bytes":7},"tx":{"bytes":9}}}]\n'
        "1795000000.6\n"
        "[]\n"
        "NIC statistics:\n"
        "     rx_no_buffer: 3\n"
        "     [0]: tx_packets: 12\n"
        "not json\n"
    )
    assert counters.sniff(path.read_bytes())
    trace = counters.parse(str(path))
    table = trace.tables["host_counters"]
    found = dict(zip(table["name"].tolist(), table["value"].tolist(), strict=True))
    assert found == {
        "TcpRetransSegs": 5,
        "TcpMaxConn": -1,
        "qdisc.1:.backlog": 1500,
        "qdisc.1:.drops": 2,
        "qdisc.1:.qlen": 1,
        "link.eth0.rx.bytes": 7,
        "link.eth0.tx.bytes": 9,
        "ethtool.rx_no_buffer": 3,
        "ethtool.[0]: tx_packets": 12,
    }
    assert [(issue.code, issue.first_record) for issue in trace.issues] == [("unparsed-line", 10)]
    empty = tmp_path / "empty"
    empty.write_text("[]\n")
    with pytest.raises(CorruptTrace):
        counters.parse(str(empty))


STATION = """Station 02:11:22:33:44:55 (on wlan0)
\tinactive time:\t304 ms
\trx bytes:\t18816
\ttx retries:\t{retries}
\ttx failed:\t0
\tsignal:  \t-{signal} [-55, -54] dBm
\tsignal avg:\t-60 dBm
\ttx bitrate:\t{rate}.0 MBit/s VHT-MCS 8 80MHz VHT-NSS 2
\trx bitrate:\t6.5 MBit/s MCS 0
\texpected throughput:\t46.875Mbps
\tauthorized:\tyes
"""


@pytest.mark.parametrize("mark", ["", "# iw "], ids=["as printed", "as recorded"])
def test_samples_of_a_station(mark: str, tmp_path: Path) -> None:
    """`iw` among the counters: its signal and rates are of the link, its retries counters of the host."""
    path, text = tmp_path / "loop", ""
    for at in range(3):
        dump = STATION.format(retries=7 * at, signal=50 + at, rate=780 - 100 * at)
        text += f"{1795000000 + at}.5\n[]\nNIC statistics:\n     rx_no_buffer: {at}\n"
        text += "".join(f"{mark}{line.strip() if mark else line}\n" for line in dump.splitlines())
        text += '{"kernel":{"TcpRetransSegs":5}}\n'
    path.write_text(text)
    trace = counters.parse(str(path))
    table = trace.tables["host_counters"]
    found = list(zip(table["name"].tolist(), table["value"].tolist(), strict=True))
    assert [value for name, value in found if name == "iw.tx_retries"] == [0, 7, 14]
    assert [value for name, value in found if name == "ethtool.rx_no_buffer"] == [0, 1, 2]
    assert found.count(("TcpRetransSegs", 5)) == found.count(("iw.rx_bytes", 18816)) == 3
    assert not trace.issues
    (link,) = trace.others
    assert (link.source.layer, link.source.clock) == ("link", "realtime")
    series = link.tables["series"]
    rows = list(zip(series["name"].tolist(), series["value"].tolist(), series["label"].tolist(), strict=True))
    assert [value for name, value, _ in rows if name == "signal_dbm"] == [-50, -51, -52]
    assert [value for name, value, _ in rows if name == "tx_bitrate_bps"] == [780e6, 680e6, 580e6]
    assert ("rx_bitrate_bps", 6.5e6, "02:11:22:33:44:55") in rows
    assert ("expected_throughput_bps", 46.875e6, "02:11:22:33:44:55") in rows
    assert {int(one) % 10**9 for one in series["t_ns"]} == {500_000_000}
    seen = mt.read(path)
    assert [one.layer for one in seen.sources] == ["kernel", "link"]


def test_a_loop_of_stations_alone_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.write_text(f"1795000000.5\n{STATION.format(retries=1, signal=50, rate=780)}")
    assert mt.open_trace(path).source.format == "counters"


def test_tracepoints_above_and_below_tcp(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    line = "  app-7 [001] ..... 5.000001: net_dev_queue: dev=eth0 skbaddr=00000000000000aa len=66\n"
    path.write_bytes(gzip.compress(f"# tracer: nop\n{line}".encode()))
    trace = ftrace.parse(str(path))
    assert trace.source.records == 1
    assert trace.source.details["devices"] == ["eth0"]
    assert trace.tables["host_events"]["skb"].tolist() == [0xAA]


def test_a_filter_restricts_tracepoints_only_if_every_packet_has_the_port() -> None:
    assert ports_of("port 443") == [443]
    assert ports_of("host 192.0.2.7 and tcp port 443") == [443]
    assert ports_of("port 80 or port 443") == []
    assert ports_of("not port 22") == []
    assert ports_of("host 192.0.2.7") == []
    assert ports_of("") == []


def test_the_capture_of_our_own_reads(tmp_path: Path) -> None:
    """pcapng of the packet socket, drops and all, by the reader of captures."""
    path = tmp_path / "own.pcapng"
    packet = bytes.fromhex(
        "020000000002020000000001080045000028000100004006f7cb0a0000010a000002"
        "138813890000000100000000500220000000" + "0000"
    )
    with open(path, "wb") as out:
        writer = PcapngWriter(out, "eth0", 1, 128, "host x, kernel y")
        writer.packet(1_795_000_000_123_456_789, packet[:54], 54)
        writer.statistics(1_795_000_001_000_000_000, 9, 2)
    trace = mt.read(path).traces[0]
    assert trace.tables["segments"]["t_ns"].tolist() == [1_795_000_000_123_456_789]
    assert [issue.code for issue in trace.issues if issue.code == "capture-drops"] == ["capture-drops"]


def test_toml_reads_back() -> None:
    import tomllib

    data = {"a": 1, "b": True, "c": None, "d": {"kernel.trace": {"x": -0.5, "y": ["é", '"']}}}
    assert tomllib.loads(toml.document(data)) == {"a": 1, "b": True, "d": data["d"]}


def test_a_packet_s_way_through_its_host_is_told_from_the_application_down() -> None:
    analysis = mt.analyze(mt.read(SAMPLES / "host-queue"))
    told = [line["text"] for line in explain(analysis, None, None, 4).lines if line["about"] == "host"]
    words = ("the application wrote", "5 segments in one packet", "queueing discipline", "the driver had it")
    assert [word in text for word, text in zip(words, told, strict=True)] == [True] * 4


def test_calls_that_were_not_recorded_are_unknown(tmp_path: Path) -> None:
    """Not 0 writes: a kernel without the tracepoints of calls, and one on which nothing was read."""
    path = tmp_path / "r"
    shutil.copytree(SAMPLES / "host-queue", path)
    whole = mt.analyze(mt.read(path), only=["host"]).results["host"].summary["application"]
    assert (whole["writes"], whole["reads"]) == (5, 0)
    log = gzip.decompress((path / "kernel.trace.gz").read_bytes()).splitlines(keepends=True)
    left = [line for line in log if b" sock_send_length:" not in line and b" sock_recv_length:" not in line]
    (path / "kernel.trace.gz").write_bytes(gzip.compress(b"".join(left)))
    settings = path / "measurement.toml"
    text = settings.read_text()
    settings.write_text(text.replace('"sock/sock_send_length", "sock/sock_recv_length", ', ""))
    analysis = mt.analyze(mt.read(path))
    summary = analysis.results["host"].summary
    application = summary["application"]
    assert {key: value for key, value in application.items() if value is not None} == {"connections": []}
    told = dict(host_lines(summary))
    assert told["Written"] == told["Read"] == "unknown: calls were not recorded"
    assert "unknown: calls were not recorded" in str(host_tables(summary))
    assert summary["waiting"]["send_buffer"]["packets"] == 0
    assert summary["waiting"]["send_buffer"]["unknown"] > 0
    settings.write_text(text.replace('"sock/sock_recv_length", ', ""))
    application = mt.analyze(mt.read(path), only=["host"]).results["host"].summary["application"]
    assert (application["writes"], application["reads"], application["read_away_s"]) == (0, None, None)


def test_the_page_has_what_the_host_did() -> None:
    host = mt.analyze(mt.read(SAMPLES / "host-queue")).results["host"].summary
    page = str(host_tables(host))
    assert "337; by tc 337" in page
    assert "480,000 bytes in 5 calls" in page
    assert 'id="host-away"' in page
    assert str(host_tables(None)) == ""


def test_figure_and_summary_tell_the_same_numbers() -> None:
    """Retransmissions and drops are counted once, whoever shows them."""
    analysis = mt.analyze(mt.read(SAMPLES / "host-queue"))
    summary = analysis.results["host"].summary
    (connection,) = analysis.results["connections"].summary["connections"]
    plot = registry.load(registry.PLOTS["host"])
    figure = plot.build(analysis.measurement, analysis.results, PlotOptions())
    again = connection["retransmissions"]["total"]
    assert again > 0
    assert f"{again:,} retransmissions" in figure.subtitle
    drops = sum(summary["drops"].values())
    assert figure.notes[0].startswith(f"{drops:,} packets dropped")
    assert [len(one.x) for one in figure.panel("host").pieces if one.name == "drop"] == [drops]
    marked = sum(len(one.x) for one in figure.panel("transfer").marks if one.name.startswith("inferred:"))
    assert marked == connection["arrivals"]["retransmission"]


def test_samples_become_rarer_for_cpu_time_and_not_for_waiting() -> None:
    """On a busy host a sample takes long and costs little: those between are needed most there."""
    assert pause_s(0.1, 0.02, 0.005) == pytest.approx(0.08)
    assert pause_s(0.1, 1.5, 0.005) == pytest.approx(0.02)
    assert pause_s(0.1, 0.2, 0.2) == pytest.approx(0.8)


def test_sockets_of_other_network_namespaces_are_no_transfers_of_a_recording(tmp_path: Path) -> None:
    """Tracepoints cover the whole kernel: without the addresses of the interface, each would be listed."""
    path = tmp_path / "r"
    shutil.copytree(SAMPLES / "host-queue", path)
    log = path / "kernel.trace.gz"
    text = b""
    for line in gzip.decompress(log.read_bytes()).splitlines(True):
        text += line
        if b"tcp_probe: " in line and b" src=10.91.0.1:" in line:
            text += line.replace(b" src=10.91.0.1:", b" src=172.17.0.2:")
    log.write_bytes(gzip.compress(text))

    def logged() -> list[str]:
        m = mt.read(path)
        return [m.traces[one.source].flows[one.flow].local_address for one in uncaptured(m)]

    assert logged() == []
    settings = path / "measurement.toml"
    settings.write_text(settings.read_text().replace("addresses", "# addresses"))
    assert logged() == ["172.17.0.2"]


def test_time_with_nothing_written_is_the_applications_however_busy_the_kernel(tmp_path: Path) -> None:
    """To the kernel a connection is busy while anything is unacknowledged; the writes tell more."""
    path = tmp_path / "r"
    shutil.copytree(SAMPLES / "host-queue", path)
    m = mt.read(path)
    spans = unwritten(m, m.connections[0])
    assert spans is not None
    analysis = mt.analyze(m)
    away_s = analysis.results["host"].summary["application"]["write_away_s"]
    nothing_s = sum(end - begin for begin, end in spans) / 1e9
    assert away_s <= nothing_s < 1.2 * away_s
    limits = analysis.results["connections"].summary["connections"][0]["limits"]
    assert limits["application"] * limits["seconds"] == pytest.approx(nothing_s, rel=0.08)
    # With writes missing, the kernel's count and the capture are all there is.
    settings = path / "measurement.toml"
    settings.write_text(settings.read_text().replace("lost_events = 0", "lost_events = 7"))
    m = mt.read(path)
    assert unwritten(m, m.connections[0]) is None
    fewer = mt.analyze(m).results["connections"].summary["connections"][0]["limits"]
    assert fewer["application"] < limits["application"] - 0.03


def test_writes_that_do_not_add_up_to_what_was_sent_show_no_time_without_any(tmp_path: Path) -> None:
    """TLS in the kernel sends more than is written."""
    path = tmp_path / "r"
    shutil.copytree(SAMPLES / "host-queue", path)
    log = path / "kernel.trace.gz"
    text = gzip.decompress(log.read_bytes()).replace(b"length = 400000", b"length = 390000")
    log.write_bytes(gzip.compress(text))
    m = mt.read(path)
    assert unwritten(m, m.connections[0]) is None
