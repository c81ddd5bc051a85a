"""The truth that single captures are judged by: a transfer whose fates are set by hand."""

from __future__ import annotations

import gzip
import json
import struct
import sys
import types
from pathlib import Path
from typing import Any

import dpkt
import pytest
from hypothesis import given, strategies as st

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
MSS = 100
CLIENT, SERVER = (bytes((10, 0, 0, 1)), 40_000), (bytes((10, 0, 0, 2)), 5001)


@pytest.fixture(scope="module")
def field() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import fieldwork.causes
        import fieldwork.packets
        import fieldwork.runs
        import fieldwork.scenarios
        import fieldwork.scoring
        import fieldwork.table
        import fieldwork.wire
    finally:
        sys.path.remove(str(BENCHMARKS))
    return fieldwork


def packet(
    ip_id: int,
    seq: int = 0,
    length: int = 0,
    *,
    back: bool = False,
    ack: int = 1,
    flags: int = dpkt.tcp.TH_ACK,
    ts_val: int | None = None,
    mss: int = 0,
) -> bytes:
    """An IP packet of the transfer; sequence numbers count from the client's 1000 and the server's 5000."""
    (src, sport), (dst, dport) = (SERVER, CLIENT) if back else (CLIENT, SERVER)
    options = struct.pack("!BBH", 2, 4, mss) if mss else b""
    if ts_val is not None:
        options += struct.pack("!BBBBII", 1, 1, 8, 10, ts_val, 7)
    tcp = dpkt.tcp.TCP(sport=sport, dport=dport, flags=flags, opts=options, data=bytes(length))
    tcp.seq = ((5000 if back else 1000) + seq) % 2**32
    tcp.ack = ((1000 if back else 5000) + ack) % 2**32
    tcp.off = (20 + len(options)) // 4
    ip = dpkt.ip.IP(src=src, dst=dst, p=6, id=ip_id, ttl=64, data=tcp)
    ip.len = 40 + len(options) + length
    return bytes(ip)


def capture(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=101)
        for t_s, data in packets:
            writer.writepkt(data, 1000 + t_s)
    return path


SYN, SYN_ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK


def transfer(stamps: bool) -> dict[str, list[tuple[float, bytes]]]:
    """Six segments: the 2nd lost before the tap; behind it the 4th comes late and the 5th twice.

    The 3rd is lost behind the tap. 2nd and 3rd are sent again. IDs 17 to 20 were taken by what the sender's
    own queue refused: no capture holds them; the 6th goes out with ID 21.
    """

    def data(ip_id: int, number: int, t: int) -> bytes:
        return packet(ip_id, 1 + (number - 1) * MSS, MSS, ts_val=t if stamps else None)

    syn = packet(9, flags=SYN, ack=-5000, mss=MSS + (12 if stamps else 0), ts_val=1 if stamps else None)
    answer = packet(
        0, flags=SYN_ACK, back=True, mss=MSS + (12 if stamps else 0), ts_val=1 if stamps else None
    )
    first, second, third, fourth, fifth = (data(9 + n, n, 10 + n) for n in range(1, 6))
    again2, again3 = data(15, 2, 40), data(16, 3, 41)
    sixth = data(21, 6, 50)
    sent = [first, second, third, fourth, fifth]
    snd = [(0.0, syn), (0.02, answer)] + [(0.03 + at / 1000, part) for at, part in enumerate(sent)]
    snd += [(0.1, again2), (0.101, again3), (0.12, sixth)]
    mid = [(0.005, syn), (0.015, answer)] + [
        (0.035 + at / 1000, part) for at, part in enumerate(sent) if part is not second
    ]
    mid += [(0.105, again2), (0.106, again3), (0.125, sixth)]
    rcv = [(0.01, syn), (0.0101, answer), (0.04, first), (0.044, fifth), (0.0441, fifth), (0.045, fourth)]
    rcv += [(0.11, again2), (0.111, again3), (0.13, sixth)]
    acks = [packet(100 + n, back=True, ack=1 + n * MSS) for n in (1, 5, 6)]
    for at, ack in zip((0.041, 0.112, 0.131), acks, strict=True):
        rcv.append((at, ack))
        mid.append((at + 0.005, ack))
        snd.append((at + 0.01, ack))
    return {"snd": sorted(snd), "mid": sorted(mid), "rcv": sorted(rcv)}


def read(field: Any, tmp_path: Path, stamps: bool) -> dict[str, Any]:
    return {
        point: field.packets.packets(field.packets.load(capture(tmp_path / f"{point}.pcap", packets)))
        for point, packets in transfer(stamps).items()
    }


@pytest.mark.parametrize("stamps", [True, False])
def test_every_arrival_has_its_truth(field: Any, tmp_path: Path, stamps: bool) -> None:
    captures = read(field, tmp_path, stamps)
    found = field.wire.directions(captures)
    assert list(found) == [(CLIENT, SERVER)]
    verdicts = {
        point: [((a.seq - 1001) // MSS + 1, a.verdict) for a in field.wire.arrivals(packets, found)]
        for point, packets in captures.items()
    }
    resent = [(2, "retransmission"), (3, "retransmission")]
    assert verdicts == {
        "snd": resent,
        "mid": resent,
        "rcv": [(5, "network_duplicate"), (4, "reordered"), *resent],
    }
    direction = found[CLIENT, SERVER]
    assert [direction.lost("snd", "mid"), direction.lost("mid", "rcv")] == [1, 1]
    assert [direction.retransmitted(point) for point in captures] == [2, 2, 2]
    # 17 to 20 left TCP and came nowhere; at the tap one more, and at the receiver two.
    assert direction.unseen == {"snd": 4, "mid": 5, "rcv": 6}


def test_super_segments_are_the_packets_they_become(field: Any, tmp_path: Path) -> None:
    captures = read(field, tmp_path, True)
    whole = field.wire.directions(captures)
    # The sender's device does the segmentation: its capture holds the first five as one.
    merged = [p for p in captures["snd"] if not 11 <= p.ip_id <= 14 or p.reverse == (CLIENT, SERVER)]
    first = next(p for p in merged if p.ip_id == 10)
    first.length = 5 * MSS
    later = [p for p in merged if p.ip_id != 10]
    captures["snd"] = sorted([first, *later], key=lambda p: p.t_ns)
    # One TSval stands for all of them, so that the others' captures must tell the same.
    for point in ("mid", "rcv"):
        for p in captures[point]:
            if p.key == (CLIENT, SERVER) and p.length and p.ip_id < 15:
                p.ts_val = first.ts_val
    found = field.wire.directions(captures)
    assert {identity[:2] for identity in found[CLIENT, SERVER].sent} == {
        identity[:2] for identity in whole[CLIENT, SERVER].sent
    }
    assert [a.verdict for a in field.wire.arrivals(captures["snd"], found)] == ["retransmission"] * 2
    assert field.wire.arrivals(captures["rcv"], found)[0].verdict == "network_duplicate"


def test_halves_are_the_path_alone(field: Any, tmp_path: Path) -> None:
    captures = read(field, tmp_path, True)
    half = field.wire.halves(captures, (CLIENT, SERVER), "mid", "rcv")
    assert half.smallest == pytest.approx(9.9e6, abs=2e3)  # the SYN took less than data
    half = field.wire.halves(captures, (CLIENT, SERVER), "mid", "snd")
    assert half.smallest == pytest.approx(10e6, abs=2e3)
    # The same path, asked for the other direction's data.
    half = field.wire.halves(captures, (SERVER, CLIENT), "mid", "snd", from_snd=False)
    assert half.smallest == pytest.approx(10e6, abs=2e3)


def test_first_syns_are_no_retransmissions(field: Any, tmp_path: Path) -> None:
    captures = read(field, tmp_path, False)
    assert [field.wire.syns_again(captures, point) for point in captures] == [(0, 0)] * 3
    syn = captures["snd"][0]
    captures["snd"].insert(1, syn)
    assert field.wire.syns_again(captures, "snd") == (1, 1)
    # One copy came to the tap; which of both nobody knows.
    assert field.wire.syns_again(captures, "mid") == (0, 1)


@given(st.integers(0, 65_535), st.integers(0, 2**32 - 1), st.integers(0, 40), st.booleans())
def test_rewritten_packets_keep_their_checksums(ip_id: int, ts_val: int, length: int, early: bool) -> None:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from fieldwork.packets import no_timestamps, parse, zero_id
    finally:
        sys.path.remove(str(BENCHMARKS))
    # The option begins at an even or at an odd place.
    nops = b"\1" if early else b"\1\1"
    options = nops + struct.pack("!BBII", 8, 10, ts_val, 7) + b"\1" * (2 - len(nops))
    tcp = dpkt.tcp.TCP(sport=1, dport=2, seq=3, ack=4, opts=options, data=bytes(range(length)))
    tcp.off = 8
    ip = dpkt.ip.IP(src=CLIENT[0], dst=SERVER[0], p=6, id=ip_id, data=tcp)
    ip.len = 52 + length
    changed = bytearray(bytes(ip))
    no_timestamps(changed)
    zero_id(changed)
    told = parse(bytes(changed), 1, 0)
    assert told is not None
    assert (told.ip_id, told.ts_val, told.length, told.seq) == (0, None, length, 3)
    again = dpkt.ip.IP(bytes(changed))
    kept = again.sum, again.data.sum
    again.sum = again.data.sum = 0
    fresh = dpkt.ip.IP(bytes(again))

    def same(a: int, b: int) -> bool:
        return a == b or {a, b} == {0, 0xFFFF}  # both are zero in one's complement

    assert same(kept[0], fresh.sum)
    assert same(kept[1], fresh.data.sum)


def run_folder(tmp_path: Path, field: Any) -> Path:
    """A run as `field.py make` leaves it."""
    folder = tmp_path / "campaign" / "run-1"
    folder.mkdir(parents=True)
    for point, packets in transfer(True).items():
        raw = capture(tmp_path / "raw.pcap", packets).read_bytes()
        (folder / f"{point}.pcap.gz").write_bytes(gzip.compress(raw))
    (folder / "ss.log.gz").write_bytes(gzip.compress(b"ESTAB 0 0 a b reno rtt:10.2/1 minrtt:10\n"))
    table = field.scenarios.scenario("path", 1, 1)
    table["tcp"]["timestamps"] = 1
    table["network"]["qdisc"] = {"kind": "", "at": "sender"}
    table["shows"] = "random path"
    table["flows"] = [{"kind": "bulk", "bytes": 6 * MSS}]
    info = {"busy_time": 120_000, "rwnd_limited": 0, "sndbuf_limited": 0}
    truth = {
        "settings": table,
        "received": 6 * MSS,
        "flows": [{"port": 5001, "tcp_info": info}],
        "qdisc": None,
        "kernel": {"TcpRetransSegs": 3, "TcpExtTCPRetransFail": 1, "TcpExtTCPFastRetrans": 2},
        "kernel_rcv": {},
        "events": [],
    }
    (folder / "truth.json").write_text(json.dumps(truth))
    return folder


def test_a_run_is_scored_at_every_point(field: Any, tmp_path: Path) -> None:
    folder = run_folder(tmp_path, field)
    scores = field.scoring.score_run(folder, with_others=False)
    assert [(s.point, s.variant) for s in scores][:5] == [("snd", v) for v in field.scoring.VARIANTS]
    by_name = {(s.point, s.variant): s for s in scores}
    whole = by_name["rcv", "as it is"]
    assert {true: sum(row.values()) for true, row in whole.matrix.items()} == {
        "network_duplicate": 1,
        "reordered": 1,
        "retransmission": 2,
    }
    # Two on the wire; the refused one is none.
    assert whole.resent == (2, 2)
    assert whole.losses_true == (2, 6, 0, 0)
    assert by_name["mid", "as it is"].losses_true == (1, 5, 1, 1)
    assert whole.told is not None
    assert not by_name["rcv", "no IDs"].ids
    assert not by_name["rcv", "neither"].timestamps
    text = field.table.tables([s.to_dict() for s in scores], markdown=True)
    assert text.count("###") == 9
    assert "| rcv | yes | yes |" in text


@pytest.mark.parametrize(
    ("point", "before", "drops"),
    [("snd", False, (9, 3)), ("mid", True, (0, 3)), ("mid", False, (9, 0)), ("rcv", True, (9, 3))],
)
def test_what_a_full_queue_dropped_is_told_by_its_hop(
    field: Any, point: str, before: bool, drops: tuple[int, int]
) -> None:
    """Three packets lost on the first hop, nine dropped by the queue of the second; an ACK counts nowhere."""
    queues = field.scoring.told_of_queues
    truth = {
        "settings": {"network": {"sender": "ms"}, "link": {"hop": [{}, {}]}},
        "events": [
            *[{"what": "packet_lost", "side": 0, "hop": 0}] * 3,
            *[{"what": "queue_drop", "side": 0, "hop": 1}] * 9,
            {"what": "packet_lost", "side": 1, "hop": 0},
            {"what": "packet_reordered", "side": 0, "hop": 1},
        ],
    }
    one: Any = {"losses": {"upstream": int(before), "downstream": int(not before)}}
    for dropped in (True, False, None):
        (told,) = queues(truth, point, [one | {"queue_at_losses": {"dropped": dropped}}])
        assert (told["full"], told["others"], told["dropped"]) == (*drops, dropped)
        assert told["right"] == ((drops[0] > drops[1]) == bool(dropped))
    assert queues(truth, point, []) == []


@pytest.mark.parametrize(("qdisc", "rate_bps"), [("", 8e6), ("tbf", 8e6 * 1500 / 1514)])
def test_rate_and_utilization_of_a_link_are_those_of_ip_packets(
    field: Any, qdisc: str, rate_bps: float
) -> None:
    """1,448,000 bytes in full segments need 1.5 s of an 8 Mbit/s link, in IP packets."""
    hop = {"up": {"rate_bps": 0.0 if qdisc else 8e6}}
    network = {"sender": "ms", "qdisc": {"kind": qdisc, "rate_bps": 8e6}}
    truth = {"settings": {"network": network, "link": {"hop": [hop]}}, "flows": [{}]}
    entry = {"mss": 1460, "timestamps": True, "bytes": {"unique": 1_448_000}, "closed": "fin"}
    used = {"span_s": 3.0, "value": 0.5, "low": 0.45, "high": 0.6}
    link = field.scoring.told_of_link(truth, [entry | {"bottleneck": {"rate_bps": 8.05e6}}], used)
    assert link["rate_bps"] == pytest.approx(rate_bps)
    assert link["used"]["true"] == pytest.approx(0.5 * 8e6 / rate_bps)
    assert link["used"]["inside"]
    scores = [{"point": "mid", "link": link}]
    assert field.table.linkrates.rows(scores)[2][:4] == ["mid", "1", "1", f"{int(not qdisc)} of 1"]
    broken = entry | {"closed": "reset", "bottleneck": None}
    assert field.scoring.told_of_link(truth, [broken], used) == link | {"told_bps": None, "used": None}
    assert field.scoring.told_of_link(truth, [entry, entry], used) is None


def test_the_limit_is_the_kernels_or_the_applications_own_schedule(field: Any) -> None:
    causes = field.causes
    told = {"tcp_info": {"busy_time": 900_000, "rwnd_limited": 800_000, "sndbuf_limited": 0}}
    shares = causes.shares(told, 1.0)
    assert shares["receiver_window"] == pytest.approx(0.8)
    assert shares["application"] == pytest.approx(0.1)
    assert causes.dominating({"kind": "bulk"}, shares, 1.0) == {"receiver_window"}
    paced = {"kind": "paced", "bytes": 125_000, "rate_bps": 1e6}
    assert causes.dominating(paced, shares, 1.1) == {"application"}
    near = causes.shares({"tcp_info": {"busy_time": 550_000, "rwnd_limited": 0, "sndbuf_limited": 0}}, 1.0)
    assert causes.dominating({"kind": "bulk"}, near, 1.0) == {"application", "network"}
    assert causes.shares({"tcp_info": {}}, 1.0) == {}


@pytest.mark.parametrize("family", ["path", "everyday", "writers"])
def test_every_drawn_scenario_can_be_run(field: Any, family: str, tmp_path: Path) -> None:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from fieldwork.making import toml_of
    finally:
        sys.path.remove(str(BENCHMARKS))
    from multitracer.lab.library import load

    for number in range(60):
        table = field.scenarios.scenario(family, 7, number)
        assert table == field.scenarios.scenario(family, 7, number)
        file = tmp_path / f"{number}.toml"
        file.write_text(toml_of(table))
        scenario = load(str(file))
        assert scenario.trace.middle
        assert scenario.link["model"] in ("path", "interfaces")
        assert sum(flow.payload_bytes for flow in scenario.flows) < 8e6


@pytest.mark.parametrize("from_zero", [True, False])
def test_what_is_told_is_held_against_the_truth(
    field: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_zero: bool
) -> None:
    folder = run_folder(tmp_path, field)

    def told(_: Path) -> list[dict[str, str]]:
        """Of the receiver's capture: the duplicate wrong, the late one undecided, one row made up."""
        rows = [(5, MSS, "retransmission"), (7, MSS, "undecided"), (8, MSS, "retransmission")]
        rows += [(3, MSS, "retransmission"), (9, MSS, "retransmission")]
        return [
            {"record": str(number - from_zero), "length": str(length), "verdict": verdict, "evidence": "x"}
            for number, length, verdict in rows
        ]

    run = field.runs.read_run(folder)
    records = [(p.record, p.length) for p in run.captures["rcv"] if p.key == (CLIENT, SERVER)]
    assert records == [(1, 0), (3, MSS), (5, MSS), (6, MSS), (7, MSS), (8, MSS), (9, MSS), (11, MSS)]
    monkeypatch.setattr(field.scoring.program, "arrivals", told)
    monkeypatch.setattr(field.scoring.program, "analyze", lambda *_: None)
    (score,) = field.scoring.score_run(folder, ["rcv"], ["as it is"], with_others=False)
    # Record 5 is the first copy of the 5th segment, in order; 6 its duplicate, which is told of nowhere.
    assert score.matrix == {
        "network_duplicate": {"not told": 1},
        "reordered": {"undecided": 1},
        "retransmission": {"retransmission": 2},
    }
    assert score.invented == 2
    assert sum("sent once and in order" in miss for miss in score.misses) == 2


def test_the_time_of_data_ends_with_the_ack_of_its_last_byte(field: Any) -> None:
    """Neither the other end's FIN, which comes later, nor its SYN, which acknowledges nothing, ends it."""
    fin, syn, ack = 0x01, 0x02, 0x10
    a, b = (b"aaaa", 1), (b"bbbb", 2)

    def packet(t_s: float, own: bool, seq: int, length: int, acked: int, flags: int) -> Any:
        key = (a, b) if own else (b, a)
        return types.SimpleNamespace(
            t_ns=round(t_s * 1e9), key=key, reverse=key[::-1], seq=seq, length=length, ack=acked, flags=flags
        )

    captured = [
        packet(0.0, False, 77, 0, 0, syn),
        packet(0.1, True, 1000, 0, 78, syn | ack),
        packet(0.2, True, 1001, 500, 78, ack),
        packet(0.3, True, 1501, 500, 78, ack | fin),
        packet(0.7, False, 78, 0, 2002, ack),
        packet(5.0, False, 78, 0, 2002, ack | fin),
        packet(5.1, True, 2002, 0, 79, ack),
    ]
    direction = types.SimpleNamespace(key=(a, b), isn=1001)
    assert field.causes.data_seconds(captured, direction) == pytest.approx(0.5)


def test_a_window_behind_a_full_link_may_be_told_as_the_link(field: Any) -> None:
    def allowed(full: float) -> set[str]:
        found: set[str] = field.causes.kinds({}, {"receiver_window"}, full, 0.0, False, (80.0, 10.0))
        return found

    assert allowed(0.8) == {"idle_receiver_window"}
    assert allowed(0.95) == {"idle_receiver_window", "bottleneck", "queue"}


def test_the_matrix_is_the_same_for_every_seed(field: Any) -> None:
    tables = [[field.scenarios.scenario("matrix", seed, number) for number in range(13)] for seed in (1, 2)]
    assert tables[0] == tables[1]
    assert len({table["shows"] for table in tables[0]}) == 13
