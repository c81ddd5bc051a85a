"""Real runs: namespaces, TUN devices, tcpdump, tracepoints. Skipped where the machine does not have them."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpkt
import pytest
from support_samples import PATIENCE_S

from multitracer.lab.fleet import Outcome, read_fleet, run_fleet
from multitracer.lab.kernel import detached_mount
from multitracer.lab.library import load
from multitracer.lab.requirements import LabError, missing
from multitracer.lab.runner import Progress, run
from multitracer.model.errors import MultiTracerError

LACKS = missing(["ip", "ss", "tcpdump"])
pytestmark = [
    pytest.mark.skipif(bool(LACKS), reason="a real run needs " + "; ".join(LACKS)),
    pytest.mark.usefixtures("kernel_to_itself"),
]

FLEET = """
[[runs]]
scenario = "plain-cubic"
label = "plain"
set = { "flow.bytes" = 400000, "link.up.loss" = 0.01 }

[[runs]]
scenario = "flows-two-way"
label = "reverse"
set = { "flow.bytes" = 50000 }

[[runs]]
scenario = "figure-6-good-radio"
label = "radio"
set = { "flow.bytes" = 1200, "link.delay_ms" = 40, "network.quiet_s" = 0.5, "trace.ss_interval_s" = 0.2 }

[[runs]]
scenario = "tso"
label = "tso"
set = { "flow.bytes" = 400000, "link.up.loss" = 0.0 }

[[runs]]
scenario = "plain-cubic"
label = "refused"
set = { "tcp.no_such_setting" = 1 }
"""
IPERF3 = """
[[runs]]
scenario = "iperf3"
label = "iperf3"
set = { "flow.bytes" = 200000 }
"""


@dataclass
class Fleet:
    """Where the shared runs are and what was said of them."""

    root: Path
    file: Path
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def json(self, run: str, name: str) -> Any:
        return json.loads((self.root / run / name).read_text())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("fleet")
    file = folder / "fleet.toml"
    file.write_text(FLEET + (IPERF3 if shutil.which("iperf3") else ""))
    made = Fleet(folder / "runs", file)
    outcomes = run_fleet(read_fleet(str(file)), str(made.root), parallel=6)
    made.outcomes = {outcome.job.name: outcome for outcome in outcomes}
    return made


def packets(path: Path) -> list[dpkt.ip.IP]:
    with path.open("rb") as file:
        return [dpkt.ip.IP(data) for _, data in dpkt.pcap.Reader(file)]


def text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


@pytest.mark.parametrize("name", ["plain_seed=1", "reverse_seed=1", "radio_seed=1"])
def test_captures_hold_exactly_what_the_kernels_counted(fleet: Fleet, name: str) -> None:
    assert fleet.outcomes[name].status == "done", fleet.outcomes[name].error
    # A busy machine delays what the link does, and says so; what is counted stays exact.
    assert [words for words in fleet.outcomes[name].warnings if "too busy" not in words] == []
    kernel = fleet.json(name, "kernel.json")
    lab = fleet.json(name, "truth.json")["lab"]
    port = {port for p in packets(fleet.root / name / "snd.pcap") for port in (p.data.sport, p.data.dport)}
    assert len(port & set(range(5001, 32768))) == len(fleet.json(name, "truth.json")["flows"])
    for capture, end in (("snd.pcap", "sender"), ("rcv.pcap", "receiver")):
        count = len(packets(fleet.root / name / capture))
        assert count == lab["captures"][capture]["captured"] == lab["captures"][capture]["received"]
        # OutSegs leaves retransmissions out.
        counted = kernel[end]
        assert count == counted["TcpInSegs"] + counted["TcpOutSegs"] + counted.get("TcpRetransSegs", 0)


def test_truth_accounts_for_every_packet(fleet: Fleet) -> None:
    name = "plain_seed=1"
    truth = fleet.json(name, "truth.json")
    flow = truth["flows"][0]
    assert truth["complete"]
    assert flow["intact"]
    assert flow["sent"] == flow["received"] == 400_000
    lost = [event["side"] for event in truth["events"] if event["what"] == "packet_lost"]
    assert lost
    # What the data's side loses is missing at the receiver; what the other side loses, at the sender.
    gone = lost + [side for _, side in truth["if_queue_drops"]]
    sent, received = (len(packets(fleet.root / name / capture)) for capture in ("snd.pcap", "rcv.pcap"))
    assert sent - received == gone.count(0) - gone.count(1)
    assert fleet.json(name, "kernel.json")["sender"]["TcpRetransSegs"] > 0


def test_kernel_events_are_the_runs_own(fleet: Fleet) -> None:
    for name in ("plain_seed=1", "radio_seed=1"):
        settings = tomllib.loads((fleet.root / name / "measurement.toml").read_text())
        lines = text(fleet.root / name / "tcp_probe.txt.gz").splitlines()
        events = [line for line in lines if not line.startswith("#")]
        kinds = {re.sub(r".*?\d: (\w+): .*", r"\1", line) for line in events}
        assert {"tcp_probe", "inet_sock_set_state"} <= kinds
        hosts = {host for line in events for host in re.findall(r"\b(?:saddr|src)=([\d.]+)", line)}
        assert not any(" dport=0 " in line for line in events)
        assert hosts == {socket.inet_ntoa(p.src) for p in packets(fleet.root / name / "snd.pcap")}
        assert settings["sources"]["tcp_probe.txt.gz"]["clock"] == "local"


def test_radio_log_and_frames_agree(fleet: Fleet) -> None:
    folder = fleet.root / "radio_seed=1"
    lines = text(folder / "rlp.log.gz").splitlines()
    assert lines[0].startswith("# rlpdump 1 clock=realtime slot_ms=20 payload_bytes=24")
    sent = [line for line in lines if " snd I " in line]
    frames = packets(folder / "frames" / "rlp.pcap")
    assert all(frame.data.dport == 4729 and frame.data.data[2] == 0x14 for frame in frames)
    uplink = [frame for frame in frames if frame.data.data[4] & 0x40]
    assert 0 < len(uplink) < len(frames)
    # N(S) of an information frame is below 62: the rest are supervisory and unnumbered frames.
    numbers = [(f.data.data[16] >> 3 | f.data.data[17] << 5) & 63 for f in frames]
    assert sum(number < 62 for number in numbers) == len(sent)


def test_measurement_toml_names_every_trace(fleet: Fleet) -> None:
    folder = fleet.root / "radio_seed=1"
    settings = tomllib.loads((folder / "measurement.toml").read_text())
    others = {"measurement.toml", "kernel.json", "truth.json", "frames"}
    assert set(settings["sources"]) == {entry.name for entry in folder.iterdir()} - others
    assert settings["link_rate_bps"] == 9600
    assert settings["parameters"]["link.delay_ms"] == 40
    assert re.search(r"^[A-Z0-9-]+ +\d+ +\d+ +10\..* reno .*\brto:", text(folder / "ss.log.gz"), re.MULTILINE)


def test_offload_shows_super_segments_and_delivers_every_byte(fleet: Fleet) -> None:
    name = "tso_seed=1"
    assert fleet.json(name, "truth.json")["flows"][0]["intact"]
    assert max(original_lengths(fleet.root / name / "snd.pcap")) > 1500
    assert max(original_lengths(fleet.root / name / "rcv.pcap")) <= 1500
    assert "TcpInCsumErrors" not in fleet.json(name, "kernel.json")["receiver"]


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_leaves_its_own_result(fleet: Fleet) -> None:
    result = fleet.json("iperf3_seed=1", "iperf3.json")
    flow = fleet.json("iperf3_seed=1", "truth.json")["flows"][0]
    assert flow["error"] == ""
    assert result["end"]["sum_sent"]["bytes"] == flow["sent"] >= 200_000
    assert 0 < flow["received"] <= flow["sent"]


def test_a_failed_run_is_reported_and_leaves_no_directory(fleet: Fleet) -> None:
    outcome = fleet.outcomes["refused_seed=1"]
    assert outcome.status == "failed"
    assert "net.ipv4.tcp_no_such_setting" in outcome.error
    assert not [entry.name for entry in fleet.root.iterdir() if "refused" in entry.name]


def test_a_fleet_goes_on_where_it_stopped(fleet: Fleet) -> None:
    jobs = [job for job in read_fleet(str(fleet.file)) if not job.name.startswith("refused")]
    assert {outcome.status for outcome in run_fleet(jobs, str(fleet.root), parallel=2)} == {"skipped"}


def test_nothing_is_overwritten(fleet: Fleet) -> None:
    with pytest.raises(LabError, match="exists"):
        run(load("plain-cubic"), str(fleet.root / "plain_seed=1"))


def test_a_missing_congestion_control_is_named(tmp_path: Path) -> None:
    scenario = load("plain-cubic", ["tcp.congestion_control=nonesuch"])
    with pytest.raises(MultiTracerError, match=r"nonesuch.*only .*reno"):
        run(scenario, str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    order = {
        "scenario": "plain-cubic",
        "values": {"flow.bytes": 10**9},
        "seed": 1,
        "out": str(tmp_path / "out"),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "multitracer.lab.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdout as said:
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
        while b"transfer" not in (line := said.readline()):
            assert line, "the run ended before it began"
        # What was started may not be what it will be yet: a child names its program when it has been loaded.
        _eventually(lambda: _is_complete(*_started(process.pid)), "not all children started")
        children, spaces, instances = _started(process.pid)
        assert instances <= set(_instances())
        process.send_signal(number)
        process.wait(PATIENCE_S)
    # The kernel and the guardian finish a killed run's cleaning a moment later.
    _eventually(lambda: not [pid for pid in children if _alive(pid)], "processes left behind")
    _eventually(lambda: not spaces & {_namespace(int(pid)) for pid in _pids()}, "namespaces left behind")
    _eventually(lambda: not instances & set(_instances()), "trace instance left behind")
    assert not (tmp_path / "out").exists()
    if number != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []


def test_a_run_whose_capture_dies_fails_at_once(tmp_path: Path) -> None:
    def kill_capture(progress: Progress) -> None:
        if progress.phase == "transfer":
            for pid in _family(os.getpid()):
                if _command(pid).startswith("tcpdump"):
                    os.kill(pid, signal.SIGTERM)

    with pytest.raises(LabError, match="tcpdump ended"):
        run(load("plain-cubic", ["flow.bytes=1e9"]), str(tmp_path / "out"), progress=kill_capture)
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in _family(os.getpid()) if _command(pid).startswith(("tcpdump", "sh\0-c"))]


def original_lengths(path: Path) -> list[int]:
    """Lengths on the wire, which dpkt's reader does not tell."""
    data, lengths, position = path.read_bytes(), [], 24
    while position < len(data):
        _, _, captured, original = struct.unpack_from("=IIII", data, position)
        lengths.append(original)
        position += 16 + captured
    return lengths


def _pids() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _family(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for pid in _pids():
        try:
            parents[int(pid)] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = [root]
    for pid in family:
        family.extend(child for child, parent in parents.items() if parent == pid)
    # Short-lived helpers of the sampling loop come and go.
    return [pid for pid in family[1:] if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def _instances() -> list[str]:
    mount = detached_mount("tracefs")
    try:
        return os.listdir(f"/proc/self/fd/{mount}/instances")
    finally:
        os.close(mount)


def _started(root: int) -> tuple[list[int], set[str | None], set[str]]:
    """Children of a run, their network namespaces, and the trace instances that their commands name."""
    children = _family(root)
    spaces = {_namespace(pid) for pid in children} - {_namespace(os.getpid()), None}
    # The guardian and the reader of the trace instance name it.
    commands = " ".join(_command(pid) for pid in children)
    return children, spaces, set(re.findall(r"/instances/(multitracer-\d+)", commands))


def _is_complete(children: list[int], spaces: set[str | None], instances: set[str]) -> bool:
    return len(children) >= 5 and len(spaces) == 2 and len(instances) == 1


def _eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
