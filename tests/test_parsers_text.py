"""The text-log parsers: exact values from small snippets of every variant of their formats."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from multitracer.model.errors import CorruptTrace, UnreadableFile
from multitracer.model.trace import Flow, Trace
from multitracer.parsers import ftrace, rlpdump, ss

FTRACE_HEAD = """\
# tracer: nop
#
# entries-in-buffer/entries-written: 9918/13393   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""
PROBE = (
    "snd_nxt=0x47047f3 snd_una=0xfaa7d1df snd_cwnd=11 ssthresh={ssthresh} "
    "snd_wnd=65536 srtt=786 rcv_wnd=64512"
)
V4, MAPPED = (
    "src=10.9.0.1:56612 dest=10.9.0.2:5201",
    "src=[::ffff:10.9.0.1]:56612 dest=[::ffff:10.9.0.2]:5201",
)
ENDS = "sport=56612 dport=5201 saddr=10.9.0.1 daddr=10.9.0.2 saddrv6=::ffff:10.9.0.1 daddrv6=::ffff:10.9.0.2"
FLOW = Flow("10.9.0.1", 56612, "10.9.0.2", 5201)


def store(folder: Path, text: str, name: str = "log") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def row(trace: Trace, table: str, at: int = 0) -> dict[str, Any]:
    """One row as plain values, without what only align fills in."""
    columns = trace.tables[table].columns
    return {
        name: array[at].item() for name, array in columns.items() if name not in ("source", "conn", "dir")
    }


def codes(trace: Trace) -> dict[str, tuple[int, int]]:
    assert all(issue.path == trace.source.path for issue in trace.issues)
    return {issue.code: (issue.count, issue.first_record) for issue in trace.issues}


# ftrace, trace-cmd report, perf script

PREFIXES = {
    "ftrace, 5 flags": "          <idle>-0       [001] ..s2.   240.650054: {}: ",
    "ftrace, 4 flags": "           <idle>-0     [004] ..s7   240.650054: {}: ",
    "ftrace, tgid": "          iperf3-3859  (   3859) [000] .....   240.650054: {}: ",
    "command with blanks": "  my job [0] 7-8-123     [000] ....   240.650054: {}: ",
    "trace-cmd": "          python3-10534 [001]   240.650054: {}:            ",
    "trace-cmd instance, ns": "frinst2:          python3-10534 [001]   240.650054000: {}:   ",
    "perf": "         python3 10542 [000]   240.650054:   tcp:{}: ",
    "perf, command with blanks": "    tmux: server 10542 [000]   240.650054:   sock:{}: ",
}
PROBE_VERSIONS = {
    "length": (f"{V4} mark=0x0 length=52 {PROBE}", -1),
    "data_len": (f"{V4} mark=0x0 data_len=20 {PROBE} sock_cookie=ab41", 20),
    "family": (f"family=AF_INET6 {MAPPED} mark=0x0 data_len=0 {PROBE} sock_cookie=2", 0),
    "addresses": (
        f"family=AF_INET {V4} mark=0 data_len=7 {PROBE} sock_cookie=2 skbaddr=0xffff88 skaddr=0x0",
        7,
    ),
    "other fields": (f"family=AF_INET {V4} mark=0x0 data_len=7 {PROBE} th_window=8992 th_seq=0x8dfe11af", 7),
}


@pytest.mark.parametrize("version", PROBE_VERSIONS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_tcp_probe(tmp_path: Path, prefix: str, version: str) -> None:
    words, data_length = PROBE_VERSIONS[version]
    line = PREFIXES[prefix].format("tcp_probe") + words.format(ssthresh=14)
    path = store(tmp_path, line + "\n")
    assert ftrace.sniff(line.encode())
    trace = ftrace.parse(path)
    assert trace.flows == [FLOW]
    values = row(trace, "tcp_states")
    expected = {
        "t_ns": 240_650_054_000,
        "record": 1,
        "flow": 0,
        "snd_nxt": 0x47047F3,
        "snd_una": 0xFAA7D1DF,
        "data_length": data_length,
        "cwnd": 11,
        "ssthresh": 14,
        "snd_wnd": 65536,
        "rcv_wnd": 64512,
        "srtt_ns": 786_000,
        "trigger": 0,
    }
    assert values == {name: expected.get(name, -1) for name in values}
    assert trace.source.clock == "monotonic"
    assert trace.source.resolution_ns == (1 if "ns" in prefix.split(", ") else 1000)
    assert trace.source.details["lengths_with_header"] == (version == "length")
    assert trace.issues == []


def test_infinite_ssthresh_is_absent(tmp_path: Path) -> None:
    line = PREFIXES["perf"].format("tcp_probe") + f"{V4} {PROBE.format(ssthresh=2147483647)}\n"
    assert row(ftrace.parse(store(tmp_path, line)), "tcp_states")["ssthresh"] == -1


KERNEL_EVENTS = {
    "retransmit, old": ("tcp_retransmit_skb", f"{ENDS} state=TCP_ESTABLISHED", "retransmit", 1, -1),
    "retransmit, first": ("tcp_retransmit_skb", ENDS, "retransmit", -1, -1),
    "retransmit, family": ("tcp_retransmit_skb", f"family=AF_INET {ENDS} state=0x4", "retransmit", 4, -1),
    "retransmit, new": (
        "tcp_retransmit_skb",
        f"skbaddr=00000000b7f0b5ce skaddr=0 family=AF_INET {ENDS} state=TCP_LAST_ACK err=0",
        "retransmit",
        9,
        -1,
    ),
    "cong_state": ("tcp_cong_state_set", f"family=AF_INET6 {ENDS} cong_state=4", "cong_state", 4, -1),
    "sock_state": (
        "inet_sock_set_state",
        f"family=AF_INET protocol=IPPROTO_TCP {ENDS} oldstate=TCP_SYN_SENT newstate=TCP_ESTABLISHED",
        "sock_state",
        1,
        2,
    ),
    "sock_state, numbers": ("inet_sock_set_state", f"{ENDS} oldstate=0xa newstate=12", "sock_state", 12, 10),
    "sock_state, 4.15": (
        "tcp_set_state",
        f"{ENDS} oldstate=TCP_CLOSING newstate=TCP_CLOSE",
        "sock_state",
        7,
        11,
    ),
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("variant", KERNEL_EVENTS)
def test_kernel_events(tmp_path: Path, prefix: str, variant: str) -> None:
    tracepoint, words, kind, value, old_value = KERNEL_EVENTS[variant]
    trace = ftrace.parse(store(tmp_path, FTRACE_HEAD + PREFIXES[prefix].format(tracepoint) + words + "\n"))
    assert trace.flows == [FLOW]
    table = trace.tables["kernel_events"]
    assert list(table.words("kind")) == [kind]
    values = row(trace, "kernel_events")
    assert (values["t_ns"], values["record"]) == (240_650_054_000, 7)
    assert (values["value"], values["old_value"]) == (value, old_value)
    assert codes(trace) == {"lost-events": (13393 - 9918, 3)}


def test_real_ipv6_socket(tmp_path: Path) -> None:
    v6 = "saddr=0.0.0.0 daddr=127.0.0.6 saddrv6=2001:db8::1 daddrv6=2001:db8::2 cong_state=3"
    line = PREFIXES["perf"].format("tcp_cong_state_set") + f"family=AF_INET6 sport=1 dport=2 {v6}\n"
    assert ftrace.parse(store(tmp_path, line)).flows == [Flow("2001:db8::1", 1, "2001:db8::2", 2)]


def test_ftrace_damage_and_order(tmp_path: Path) -> None:
    def event(time: str, words: str) -> str:
        return f" a-1 [000] ..... {time}: tcp_cong_state_set: {words}\n"

    text = "cpus=2\n" + event("2.5", f"{ENDS} cong_state=1") + event("1.5", f"{ENDS} cong_state=2")
    text += "stray words\n" + event("3.5", f"{ENDS} cong_state=") + event("3.5", "cong_state=1")
    text += " a-1 [000] ..... 4.0: tcp_destroy_sock: family=AF_INET\nCPU:1 [LOST 12 EVENTS]\n"
    text += " a-1 [000] ..... 4.0: inet_sock_set_state: protocol=IPPROTO_SCTP oldstate=1 newstate=2\n"
    trace = ftrace.parse(store(tmp_path, text))
    table = trace.tables["kernel_events"]
    assert table["record"].tolist() == [3, 2]
    assert table["value"].tolist() == [2, 1]
    assert (trace.source.first_ns, trace.source.last_ns, trace.source.records) == (
        1_500_000_000,
        2_500_000_000,
        2,
    )
    assert codes(trace) == {
        "unparsed-line": (2, 4),
        "bad-number": (1, 5),
        "out-of-order-lines": (1, 3),
        "lost-events": (12, 8),
    }
    assert trace.source.details["tracepoints"] == {"tcp_cong_state_set": 2}
    assert trace.source.details["ignored_tracepoints"] == {"other protocols": 1, "tcp_destroy_sock": 1}


@pytest.mark.parametrize(
    ("time", "clock"), [("240.5", "monotonic"), ("24050", "unknown"), ("1795248022.5", "unknown")]
)
def test_ftrace_clock(tmp_path: Path, time: str, clock: str) -> None:
    line = f" a-1 [000] ..... {time}: tcp_cong_state_set: {ENDS} cong_state=1\n"
    assert ftrace.parse(store(tmp_path, line)).source.clock == clock


# ss

STAMP_NS = 1_795_248_023_088_958_285
STAMPS = {
    "date +%s.%N": "1795248023.088958285",
    "date -Ins": "2026-11-21T08:00:23,088958285+00:00",
    "date -Ins, west": "2026-11-21T03:00:23,088958285-05:00",
    "nanoseconds": "1795248023088958285",
    "label": "timestamp:1795248023.088958285",
}
TITLES = "State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess      \n"
INFO = (
    "ts sack cubic wscale:10,10 rto:212 backoff:2 rtt:10.679/1.212 ato:40 mss:1448 pmtu:1500 rcvmss:536 "
    "advmss:1448 cwnd:11 ssthresh:9 bytes_sent:91261 bytes_retrans:4344 bytes_acked:23206 segs_out:66 "
    "segs_in:51 bbr:(bw:772Mbps,mrtt:0.014,cwnd_gain:2.88672) send 14.2Mbps lastsnd:4 "
    "pacing_rate 54671184bps/60Mbps delivery_rate 8.6Mbps delivered:51 app_limited busy:56ms "
    "rwnd_limited:50ms(89.3%) sndbuf_limited:6ms(10.7%) unacked:42 retrans:3/5 lost:3 sacked:33 "
    "rcv_space:14480 notsent:57920 minrtt:0.011 snd_wnd:81920 rcv_wnd:65536"
)
EXPECTED = {
    "t_ns": STAMP_NS,
    "flow": 0,
    "snd_nxt": -1,
    "snd_una": -1,
    "data_length": -1,
    "cwnd": 11,
    "ssthresh": 9,
    "snd_wnd": 81920,
    "rcv_wnd": 65536,
    "srtt_ns": 10_679_000,
    "rttvar_ns": 1_212_000,
    "rto_ns": 212_000_000,
    "mss": 1448,
    "bytes_sent": 91261,
    "bytes_acked": 23206,
    "bytes_retrans": 4344,
    "unacked": 42,
    "retrans_total": 5,
    "notsent": 57920,
    "min_rtt_ns": 11_000,
    "backoff": 2,
    "busy_ns": 56_000_000,
    "rwnd_limited_ns": 50_000_000,
    "sndbuf_limited_ns": 6_000_000,
    "app_limited": 1,
    "timer_ns": 212_000_000,
    "bytes_received": -1,
    "app_written": -1,
    "app_read": -1,
    "trigger": 0,
}
ENDS_SS = "10.9.0.1:56612    10.9.0.2:5201"
TIMER = "timer:(on,212ms,0) ino:878068 sk:9baec cgroup:unreachable:1 <->"
LAYOUTS = {
    "two lines": f"{TITLES}ESTAB 0      60816  {ENDS_SS} {TIMER}\n\t skmem:(r0,rb131072,t0) {INFO}   \n",
    "one line": f"{TITLES}ESTAB 0      60816  {ENDS_SS} {TIMER} {INFO}\n",
    "no titles": f"ESTAB 0      60816  {ENDS_SS} {TIMER} {INFO}\n",
    "netid": f"Netid {TITLES}tcp   ESTAB 0      60816  {ENDS_SS} {TIMER} {INFO}\n",
    "no state": f"Recv-Q Send-Q Local Address:Port Peer Address:Port\n0 1  {ENDS_SS} {TIMER}\n\t {INFO}\n",
    "mapped, zone": f"ESTAB 0 60816 [::ffff:10.9.0.1]%eth0:56612 10.9.0.2:targus-getdata1 {TIMER} {INFO}\n",
    "process": f'ESTAB 0 60816 {ENDS_SS} users:(("a b",pid=1,fd=3)) {TIMER}\n\t {INFO}\n',
}


@pytest.mark.parametrize("habit", ["before each sample", "before each line"])
@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ss(tmp_path: Path, layout: str, stamp: str, habit: str) -> None:
    text = LAYOUTS[layout]
    if habit == "before each line":
        text = "".join(f"{STAMPS[stamp]} {line}" for line in text.splitlines(keepends=True))
    else:
        text = f"{STAMPS[stamp]}\n{text}"
    assert ss.sniff(text.encode())
    trace = ss.parse(store(tmp_path, text))
    assert trace.flows == [FLOW]
    values = row(trace, "tcp_states")
    lines = text.splitlines()
    assert "10.9.0.2" in lines[values.pop("record") - 1]
    assert values == EXPECTED
    assert (trace.source.clock, trace.source.resolution_ns, trace.source.records) == ("realtime", 1, 1)
    assert trace.issues == []


def test_ss_missing_is_not_zero(tmp_path: Path) -> None:
    trace = ss.parse(store(tmp_path, f"1795248023.5\nESTAB 0 0 {ENDS_SS} reno cwnd:10\n"))
    values = row(trace, "tcp_states")
    known = {"t_ns": 1_795_248_023_500_000_000, "record": 2, "flow": 0, "cwnd": 10, "trigger": 0}
    assert values == {name: known.get(name, -1) for name in values}


@pytest.mark.parametrize(
    ("timer", "ms"),
    [
        ("on,1min30sec,0", 90_000),
        ("on,1.204sec,3", 1204),
        ("on,016ms,0", 16),
        ("on,,0", 0),
        ("on,1.204ms,0", 1204),
    ],
)
def test_ss_retransmission_timer(tmp_path: Path, timer: str, ms: int) -> None:
    text = f"1795248023.5\nESTAB 0 0 {ENDS_SS} timer:({timer}) cwnd:10\n"
    assert row(ss.parse(store(tmp_path, text)), "tcp_states")["timer_ns"] == ms * 1_000_000


def test_ss_other_timers_are_not_the_retransmission_timer(tmp_path: Path) -> None:
    text = f"1795248023.5\nESTAB 0 0 {ENDS_SS} timer:(keepalive,59sec,0) cwnd:10\n"
    assert row(ss.parse(store(tmp_path, text)), "tcp_states")["timer_ns"] == -1


def test_ss_dirty_log(tmp_path: Path) -> None:
    text = f"ESTAB 0 0 {ENDS_SS} cwnd:1\n1795248024.5\nFailed to find cgroup2 mount\nESTAB 0 0 {ENDS_SS}\n"
    text += "Failed to find cgroup2 mount\n\t cubic cwnd:2\nESTAB 0 0 10.9.0.1:22 10.9.0.3:4000\n"
    text += "\t cubic cwnd:3\n"
    text += (
        f"---\n1795248023.5\nLISTEN 0 128 *:22 *:*\n\t cubic cwnd:10\nESTAB 0 0 {ENDS_SS}\n\t cubic cwnd:x\n"
    )
    text += f"ESTAB 0 0 {ENDS_SS} cwnd:4\n1795248025.5\nESTAB 0 0 {ENDS_SS}\n"
    trace = ss.parse(store(tmp_path, text))
    table = trace.tables["tcp_states"]
    assert table["cwnd"].tolist() == [4, 2, 3]
    assert table["flow"].tolist() == [0, 0, 1]
    assert trace.flows == [FLOW, Flow("10.9.0.1", 22, "10.9.0.3", 4000)]
    assert codes(trace) == {
        "no-timestamp": (1, 1),
        "unparsed-line": (2, 3),
        "bad-number": (1, 14),
        "out-of-order-lines": (1, 15),
    }
    details = trace.source.details
    assert (details["samples"], details["connections_without_info"], details["other_sockets"]) == (3, 1, 1)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (f"ESTAB 0 0 {ENDS_SS} cwnd:1\n", "date"),
        (f"1795248023.5\nESTAB 0 0 {ENDS_SS}\n", "-i"),
        ("1795248023.5\n", "no sample"),
    ],
)
def test_ss_without_a_usable_line(tmp_path: Path, text: str, advice: str) -> None:
    with pytest.raises(CorruptTrace, match=advice):
        ss.parse(store(tmp_path, text))


def test_ss_loop_that_waits_is_recognised() -> None:
    assert ss.sniff(b"1795248022.854701356\n1795248022.97")
    assert not ss.sniff(b"17952480\n17952490\n")


# rlpdump

RLPDUMP = """\
# rlpdump 1 clock=monotonic slot_ms=20 window=31 maker=me
# a remark
12.000001 ms snd I ns=0 off=0 len=24
12.020001000 ms snd I ns=0 off=0 len=24 nr=7 try=3 pf=1 colour=red
12.03 relay-7 rcv I ns=5 off=48 len=16 dup=1
12.04 relay-7 rcv I ns=5 dup=1
12.05 relay-7 snd SREJ nr=6 pf=1 cr=0
12.06 ms rcv RNR pf=1 cr=1
12.07 ms rcv HELLO nr=9
12.08 ms evt reset cause=n2 flush_tx=824 flush_rx=0
12.09 relay-7 evt reset cause=boredom
12.1 ms evt drop queue=if len=512
12.095 ms evt handover
"""


def test_rlpdump(tmp_path: Path) -> None:
    assert rlpdump.sniff(RLPDUMP.encode())
    trace = rlpdump.parse(store(tmp_path, RLPDUMP))
    assert trace.entities == ["ms", "relay-7"]
    source = trace.source
    assert (source.clock, source.point, source.records, source.resolution_ns) == (
        "monotonic",
        "ms+relay-7",
        11,
        1,
    )
    assert (source.first_ns, source.last_ns) == (12_000_001_000, 12_100_000_000)
    assert source.details == {"version": 1, "clock": "monotonic", "slot_ms": 20, "window": 31, "maker": "me"}
    frames = trace.tables["link_frames"]
    plain = {name: frames[name].tolist() for name in frames if name != "source"}
    assert plain == {
        "t_ns": [12_000_001_000, 12_020_001_000, 12_030_000_000, 12_040_000_000],
        "record": [3, 4, 5, 6],
        "entity": [0, 0, 1, 1],
        "action": [0, 0, 1, 1],
        "ns": [0, 0, 5, 5],
        "offset": [0, 0, 48, -1],
        "length": [24, 24, 16, -1],
        "attempt": [0, 3, 0, 0],
        "duplicate": [0, 0, 1, 1],
        "nr": [-1, 7, -1, -1],
        "poll": [0, 1, 0, 0],
    }
    events = trace.tables["link_events"]
    assert list(events.words("kind")) == ["SREJ", "RNR", "opaque", "reset", "reset", "opaque", "drop"]
    assert list(events.words("action")) == ["snd", "rcv", "rcv", "evt", "evt", "evt", "evt"]
    assert list(events.words("cause")) == ["", "", "", "n2", "other", "", ""]
    assert events["record"].tolist() == [7, 8, 9, 10, 11, 13, 12]
    assert events["nr"].tolist() == [6, -1, 9, -1, -1, -1, -1]
    assert events["flush_tx"].tolist() == [-1, -1, -1, 824, -1, -1, -1]
    assert events["flush_rx"].tolist() == [-1, -1, -1, 0, -1, -1, -1]
    assert events["length"].tolist() == [-1, -1, -1, -1, -1, -1, 512]
    assert list(events.words("poll")) == ["final", "poll", "", "", "", "", ""]
    assert codes(trace) == {"unknown-verb": (2, 9), "out-of-order-lines": (1, 13)}


def test_rlpdump_damage(tmp_path: Path) -> None:
    text = "# rlpdump 1\n1.5 ms snd RR\nwarning: x\n1.6 ms snd I ns=a off=0 len=1\n"
    text += "9999999999999.5 ms snd RR\n1.7 ms"
    trace = rlpdump.parse(store(tmp_path, text))
    assert trace.source.clock == "unknown"
    assert codes(trace) == {"unparsed-line": (1, 3), "bad-number": (2, 4), "truncated-file": (1, 6)}


def test_long_lines_are_skipped(tmp_path: Path) -> None:
    trace = rlpdump.parse(store(tmp_path, "# rlpdump 1\n" + "x" * 1_000_000 + "\n1.5 ms snd RR\n"))
    assert trace.tables["link_events"]["record"].tolist() == [3]
    assert codes(trace) == {"line-too-long": (1, 2)}


@pytest.mark.parametrize("parser", [ftrace, ss, rlpdump])
def test_nothing_usable(tmp_path: Path, parser: Any) -> None:
    for content in ("", "\n", "# rlpdump 1 clock=realtime\n", "words\n", "\x00" * 100_000):
        with pytest.raises(CorruptTrace, match="log"):
            parser.parse(store(tmp_path, content))
    with pytest.raises(UnreadableFile, match="nowhere"):
        parser.parse(str(tmp_path / "nowhere"))
    with pytest.raises(UnreadableFile):
        parser.parse(str(tmp_path))


def test_gzip_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(RLPDUMP.encode())
    path = tmp_path / "plain.txt"
    path.write_bytes(packed + gzip.compress(b"13.0 ms snd RR\n"))
    whole = rlpdump.parse(str(path))
    assert whole.source.records == 12
    path.write_bytes(packed[:-12])
    assert "truncated-file" in codes(rlpdump.parse(str(path)))
