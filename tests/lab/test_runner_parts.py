"""The parts of the lab runner that need no privileges."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import tomllib
from pathlib import Path
from typing import Any

import dpkt
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from multitracer.cli.main import main
from multitracer.lab import requirements
from multitracer.lab.counters import parse_sockets
from multitracer.lab.fleet import read_fleet
from multitracer.lab.gsmtap import FrameWriter, gsmtap
from multitracer.lab.library import load, merge, names
from multitracer.lab.measurement_dir import MeasurementDir, flattened, is_complete
from multitracer.lab.models import INTERFACES, MODELS
from multitracer.lab.netns import Slot
from multitracer.lab.requirements import LabError
from multitracer.lab.scenario import from_table
from multitracer.lab.traffic import Pattern
from multitracer.lab.truth import data_rate_bps, parameters
from multitracer.lab.tso import HEADER_BYTES, checksum, segments
from multitracer.linux.counters import parse_counters
from multitracer.linux.interrupt import Interrupt
from multitracer.model import toml
from multitracer.model.errors import UnreadableFile, UsageError

FIN_PSH_CWR = dpkt.tcp.TH_FIN | dpkt.tcp.TH_PUSH | dpkt.tcp.TH_CWR


def super_segment(payload: bytes, seq: int, flags: int, ident: int) -> bytes:
    tcp = dpkt.tcp.TCP(sport=1, dport=2, seq=seq, ack=7, flags=flags, opts=b"\x01\x01\x08\x0a" + bytes(8))
    tcp.off = 8
    tcp.data = payload
    packet = dpkt.ip.IP(src=b"\n\0\0\1", dst=b"\n\0\0\2", p=6, id=ident, data=tcp)
    packet.len = 20 + 32 + len(payload)
    return bytes(packet)


@given(
    payload=st.binary(min_size=1, max_size=9000),
    mss=st.integers(100, 1448),
    seq=st.integers(0, 2**32 - 1),
    ident=st.integers(0, 65_535),
)
def test_segmentation_keeps_every_byte_and_flag(payload: bytes, mss: int, seq: int, ident: int) -> None:
    flags = dpkt.tcp.TH_ACK | FIN_PSH_CWR
    header = struct.pack("=BBHHHH", 1, 1, 52, mss, 20, 16)
    made = segments(header + super_segment(payload, seq, flags, ident))
    assert len(header) == HEADER_BYTES
    assert len(made) == -(-len(payload) // mss)
    got, position = b"", seq
    for index, data in enumerate(made):
        ip = dpkt.ip.IP(data)
        assert checksum(data[:20]) == 0
        pseudo = data[12:20] + struct.pack(">HH", 6, len(data) - 20)
        assert checksum(pseudo + data[20:]) == 0
        assert (ip.len, ip.id, ip.data.seq) == (len(data), (ident + index) % 65_536, position % 2**32)
        last = index == len(made) - 1
        wanted = dpkt.tcp.TH_ACK | (dpkt.tcp.TH_FIN | dpkt.tcp.TH_PUSH if last else 0)
        assert ip.data.flags == wanted | (dpkt.tcp.TH_CWR if index == 0 else 0)
        got += ip.data.data
        position += len(ip.data.data)
    assert got == payload


def test_an_unfinished_checksum_is_completed() -> None:
    whole = super_segment(b"odd length!", 5, dpkt.tcp.TH_ACK, 9)
    pseudo = whole[12:20] + struct.pack(">HH", 6, len(whole) - 20)
    partial = ~checksum(pseudo) & 0xFFFF
    given_out = whole[:36] + partial.to_bytes(2, "big") + whole[38:]
    assert segments(struct.pack("=BBHHHH", 1, 0, 0, 0, 20, 16) + given_out) == [whole]


def test_counters_by_nstats_names() -> None:
    text = "Tcp: RtoMin ActiveOpens\nTcp: 200 3\nTcpExt: TCPTimeouts TW\nTcpExt: 2 1\nIcmpMsg:\nIcmpMsg:\n"
    assert dict(parse_counters(text)) == {
        "TcpRtoMin": 200,
        "TcpActiveOpens": 3,
        "TcpExtTCPTimeouts": 2,
        "TcpExtTW": 1,
    }


def test_sockets_by_state_and_port() -> None:
    text = "  sl  local_address rem_address   st tx_queue\n   0: 01014D0A:1389 00000000:0000 0A 0:0\n"
    assert list(parse_sockets(text)) == [(0x0A, 5001)]


def test_gsmtap_header_field_by_field() -> None:
    data = gsmtap(bytes(30), uplink=True, t_ns=120_000_000, timeslot=3)
    version, words, kind, slot, arfcn, _, _, number, sub_type, *_ = struct.unpack(">BBBBHbbIBBBB", data[:16])
    assert (version, words, kind, slot, number, sub_type) == (2, 4, 0x14, 3, 26, 0)
    assert arfcn & 0x4000
    assert not int.from_bytes(gsmtap(b"", uplink=False, t_ns=0)[4:6], "big") & 0x4000


def test_frames_are_written_with_every_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "rlp.pcap"
    start = 1_795_249_751_740_964_123
    with FrameWriter(str(path), ("10.0.0.1", "10.0.0.2"), start) as writer:
        writer.write(start, 0, b"\xf9" * 30)
        writer.write(start + 1, 1, b"\x01" * 30)
    data = path.read_bytes()
    records = [struct.unpack_from("=IIII", data, 24 + index * (16 + 74)) for index in (0, 1)]
    assert records == [(1_795_249_751, 740_964_123, 74, 74), (1_795_249_751, 740_964_124, 74, 74)]
    with path.open("rb") as file:
        first, second = (dpkt.ip.IP(packet) for _, packet in dpkt.pcap.Reader(file))
    assert (first.src, second.src) == (b"\n\0\0\1", b"\n\0\0\2")
    assert first.data.data[16:] == b"\xf9" * 30


_PLAIN = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text()
_TABLES = st.recursive(
    st.dictionaries(st.text(), _PLAIN, max_size=5),
    lambda inner: st.dictionaries(
        st.text(), _PLAIN | inner | st.lists(st.integers(), max_size=4), max_size=5
    ),
    max_leaves=12,
)


@given(_TABLES)
def test_toml_is_read_back_as_written(table: dict[str, Any]) -> None:
    def without_none(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_none(item) for key, item in value.items() if item is not None}
        return value

    assert tomllib.loads(toml.document(table)) == without_none(table)


def test_flattened_names_tables_in_lists() -> None:
    assert flattened({"a": {"b": 1}, "c": [{"d": 2}, {"d": 3}], "e": [1, 2]}) == {
        "a.b": 1,
        "c.0.d": 2,
        "c.1.d": 3,
        "e": [1, 2],
    }


def test_a_directory_appears_only_when_complete(tmp_path: Path) -> None:
    out = MeasurementDir(str(tmp_path / "m"))
    Path(out.file("x.txt")).write_text("text")
    assert out.compress("x.txt") == "x.txt.gz"
    assert not (tmp_path / "m").exists()
    out.complete()
    assert [entry.name for entry in (tmp_path / "m").iterdir()] == ["x.txt.gz"]
    assert not is_complete(str(tmp_path / "m"))
    with pytest.raises(LabError, match="exists"):
        MeasurementDir(str(tmp_path / "m"))


def test_slots_are_held_by_one_run_at_a_time() -> None:
    first, second = Slot(first=1400), Slot(first=1400)
    try:
        assert first.number != second.number
        assert set(first.addresses()).isdisjoint(second.addresses())
        assert abs(first.port - second.port) >= Slot.PORTS
    finally:
        first.close()
        second.close()


@given(offset=st.integers(0, 10**9), length=st.integers(1, 65_536), kind=st.sampled_from(["text", "random"]))
def test_the_pattern_depends_on_the_offset_only(offset: int, length: int, kind: str) -> None:
    pattern = Pattern(kind, 7)
    whole = pattern.at(offset, length)
    half = length // 2
    assert len(whole) == length
    assert pattern.at(offset, half) + pattern.at(offset + half, length - half) == whole
    if kind == "text":
        assert not set(whole) & {0x7D, 0x7E, *range(32)}


def test_a_signal_becomes_a_question() -> None:
    with Interrupt() as interrupt:
        interrupt.check()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            interrupt.sleep(5)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("name", names())
def test_every_scenario_is_valid_and_describes_itself(name: str) -> None:
    scenario = load(name)
    assert 10 < len(scenario.shows) < 110
    assert scenario.duration_s < scenario.limit_s
    assert data_rate_bps(scenario) > 0
    assert scenario.sysctls("sender").keys() >= {
        key for key, value in scenario.tcp.items() if not isinstance(value, dict)
    }
    # All of it can be written and read back.
    assert tomllib.loads(toml.document(flattened(parameters(scenario))))


def test_scenarios_cover_the_variants() -> None:
    scenarios = [load(name) for name in names()]

    def values(key: str, default: Any) -> set[Any]:
        return {scenario.sysctls("sender").get(key, default) for scenario in scenarios}

    assert values("sack", 1) == values("timestamps", 1) == {0, 1}
    assert {0, 2} <= values("frto", 2)
    assert {scenario.congestion_control("sender") for scenario in scenarios} == {"reno", "cubic", "bbr"}
    assert {scenario.link["model"] for scenario in scenarios} == {*MODELS, INTERFACES}
    assert {scenario.network.sender for scenario in scenarios} == {"ms", "iwf"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["link.n2"], "KEY=VALUE"),
        (["link.nonesuch=1"], "nonesuch"),
        (["flow.bytes=lots"], "number"),
        (["flow.3.bytes=1"], "only 1"),
        (["flow.count=17"], "16 flows"),
        (["network.sender=moon"], "moon"),
        (["tcp.sack=[true,{}]"], "tcp.sack"),
        (["tcp.../../x=1"], "below a plain value|not the name"),
        (["limit_s=0"], "limit_s"),
        (["nonesuch=1"], "unknown nonesuch"),
        (["trace.event_names=['../x']"], "group/event"),
        (["flow=1"], "flow"),
        (["trace.middle=true"], "no middle"),
        (["trace.begin_s=3", "trace.end_s=2"], "ends after it begins"),
        (["network.qdisc.kind=red"], "qdisc.kind"),
        (["network.qdisc.kind=tbf", "network.qdisc.at=router"], "no router"),
        (["link=1"], "link"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("plain-cubic", settings)


def test_settings_reach_their_places() -> None:
    changed = load(
        "flows-two-way", ["flow.bytes=1e6", "flow.1.bytes=5", "tcp.sack=false", "link.up.loss=0.5"]
    )
    assert [flow.bytes for flow in changed.flows] == [1_000_000, 5]
    assert changed.sysctls("receiver")["sack"] == 0
    assert changed.link["up"]["loss"] == 0.5


def test_own_scenarios_extend_others(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('extends = "plain-cubic"\n[tcp]\nsack = 0\n')
    (tmp_path / "own.toml").write_text('extends = "base.toml"\nshows = "more"\n[tcp]\nfrto = 0\n')
    scenario = load(str(tmp_path / "own.toml"))
    assert scenario.name == "own"
    assert scenario.sysctls("sender") == {"congestion_control": "cubic", "sack": 0, "frto": 0}
    (tmp_path / "base.toml").write_text(f'extends = "{tmp_path / "own.toml"}"\n')
    with pytest.raises(UsageError, match="circle"):
        load(str(tmp_path / "own.toml"))
    with pytest.raises(UnreadableFile):
        load(str(tmp_path / "none.toml"))
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}
    with pytest.raises(UsageError, match="flow"):
        from_table("x", {"flow": 3, "link": {"model": "plain"}})


def test_a_fleet_is_every_combination(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(
        '[[runs]]\nscenario = "figure-8-resets-vj"\nseeds = "3-4"\n'
        '[runs.grid]\n"link.vj" = [true, false]\n"link.n2" = [6, 20]\n'
    )
    jobs = read_fleet(str(file))
    assert len({job.name for job in jobs}) == 8
    assert jobs[0].name == "figure-8-resets-vj_link.vj=true_link.n2=6_seed=3"
    assert jobs[-1].load().link["n2"] == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "runs"),
        ("[[runs]]\nscenario = 3", "scenario"),
        ('[[runs]]\nscenario = "plain-cubic"\nseeds = "9-1"', "seeds"),
        ('[[runs]]\nscenario = "plain-cubic"\nseeds = "1-999999999"', "seeds"),
        ('[[runs]]\nscenario = "plain-cubic"\n[runs.grid]\n"link.rate_bps" = 3', "list"),
        ('[[runs]]\nscenario = "plain-cubic"\n[[runs]]\nscenario = "plain-cubic"', "label"),
        ('[[runs]]\nscenario = "plain-cubic"\nset = {"link.nonesuch" = 1}', "nonesuch"),
        ("[[runs", "TOML"),
    ],
)
def test_fleets_that_make_no_sense_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_fleet(str(file))


def test_what_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(requirements, "_has_capabilities", lambda *_: False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    lacks = requirements.missing(["ip", "tcpdump"], tun_device=str(tmp_path / "tun"))
    assert [item.split(":")[0].split(" (")[0] for item in lacks] == [
        "root",
        str(tmp_path / "tun"),
        "ip",
        "tcpdump",
    ]
    assert all("sudo" in item or "install" in item or "modprobe" in item for item in lacks)


def test_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(requirements, "missing", lambda *_: ["root: run it with sudo"])
    assert main(["lab", "run", "plain-cubic", "-o", str(tmp_path / "out")]) == 2
    assert "run it with sudo" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_list_names_every_scenario() -> None:
    from multitracer.cli.lab import lab

    result = CliRunner().invoke(lab, ["list", "--json"])
    assert [item["name"] for item in json.loads(result.output)["scenarios"]] == names()
    shown = CliRunner().invoke(lab, ["list"]).output.splitlines()
    assert [line.split()[0] for line in shown if not line.startswith(" ")] == names()
