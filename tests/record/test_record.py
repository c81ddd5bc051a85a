"""Recordings of real transfers, held against what tc, the kernel's counters and the programs say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support_record import Net, network, routed, why_not
from support_samples import ROOT

import multitracer as mt
from multitracer.diagnosis.explain.inhost import host_sentences
from multitracer.lab.tracepoints import Tracepoints
from multitracer.record import system, tracing

_WHY = why_not()
pytestmark = [
    pytest.mark.skipif(bool(_WHY), reason=_WHY or "can be recorded"),
    pytest.mark.usefixtures("kernel_to_itself"),
]


def recorded_host(path: Path) -> dict:
    found = mt.analyze(mt.read(path), only=["host"]).results["host"]
    assert found.inconclusive is None, found.inconclusive
    return found.summary


def drops_of_tc(net: Net) -> int:
    return json.loads(net.run(net.a, "tc", "-s", "-j", "qdisc", "show", "dev", net.device))[0]["drops"]


def instances() -> list[str]:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os\nfrom multitracer.record import system, tracing\n"
            "fs = tracing.reach(True)\n"
            "print(*os.listdir(fs.root + '/instances'))\n"
            "fs.ours and system.unmount(fs.root)",
        ],
        capture_output=True,
        text=True,
    )
    return [name for name in said.stdout.split() if name.startswith("multitracer-")]


def test_every_drop_and_retransmission_is_named(tmp_path: Path) -> None:
    """A queue that overflows: what the kernel's log says is what tc and the counters say."""
    with network(["tbf", "rate", "20mbit", "burst", "16kb", "limit", "30kb"], offload=False) as net:
        with net.server():
            said = net.record(str(tmp_path / "r"), "--", *net.client(3_000_000))
        assert said.returncode == 0, said.stderr
        drops = drops_of_tc(net)
    host = recorded_host(tmp_path / "r")
    assert host["lost_events"] == 0
    assert drops > 0
    assert host["qdisc"]["dropped_by_tc"] == drops
    assert host["qdisc"]["dropped"] == drops
    assert sum(n for reason, n in host["drops"].items() if reason.startswith("QDISC_")) == drops
    again = host["retransmissions"]
    assert again["counted"] == again["events"]
    assert host["application"]["bytes_written"] == 3_000_000
    assert host["point"] == "snd"
    # It dropped, so it was full: 30 kB at 20 Mbit/s, less the 16 kB of a burst, is 5 ms, and all of it 12 ms.
    # How long most waited depends on the host.
    assert 0 < host["qdisc"]["median_s"] <= host["qdisc"]["max_s"] < 0.05
    assert host["qdisc"]["max_s"] > 0.004


def test_retransmissions_are_those_of_the_kernel(tmp_path: Path) -> None:
    """Losses on the way: tracepoints, counters and the capture's own count agree."""
    with routed(["tbf", "rate", "20mbit", "burst", "16kb", "limit", "30kb"]) as net, net.server():
        said = net.record(str(tmp_path / "r"), "--", *net.client(3_000_000))
        assert said.returncode == 0, said.stderr
    found = mt.analyze(mt.read(tmp_path / "r"))
    again = found.results["host"].summary["retransmissions"]
    # On a busy host a segment may still wait in the device: a call that finds it sends and counts nothing.
    assert again["counted"] == again["events"] > 0
    (connection,) = found.results["connections"].summary["connections"]
    assert connection["retransmissions"]["total"] == again["counted"]
    # They were dropped by the router, whose kernel is the same: not by the recorded interface.
    assert found.results["host"].summary["qdisc"]["dropped"] == 0
    assert found.results["host"].summary["drops_elsewhere"]["QDISC_DROP"] > 0
    unjoined = found.results["host"].summary["unjoined"]
    assert unjoined["segments"] == 0
    packets = found.results["host"].tables["host_packets"]
    assert unjoined["ambiguous"] <= 0.05 * np.count_nonzero(packets["capture"] >= 0)
    settings = tomllib.loads((tmp_path / "r" / "measurement.toml").read_text())
    capture = settings["capture"]
    assert (tmp_path / "r" / capture["file"]).exists()
    assert capture["observation_point"] == "this host"
    assert capture["interface"] == net.device
    assert "10.91.0.1" in capture["addresses"]
    waiting = found.results["host"].summary["waiting"]
    assert sum(one["share"] or 0 for one in waiting.values()) == pytest.approx(1, abs=1e-5)
    assert waiting["send_buffer"]["packets"] > 0 == waiting["send_buffer"]["unknown"]


def test_a_slow_writer_and_its_calls(tmp_path: Path) -> None:
    with network() as net, net.server():
        said = net.record(str(tmp_path / "r"), "--", *net.client(200_000, chunk=20_000, pause_s=0.1))
        assert said.returncode == 0, said.stderr
    application = recorded_host(tmp_path / "r")["application"]
    assert application["writes"] == 10
    assert application["bytes_written"] == 200_000
    assert 0.85 < application["write_away_s"] < 1.5
    texts = [
        one["text"] for one in mt.analyze(mt.read(tmp_path / "r")).results["diagnosis"].summary["sentences"]
    ]
    assert any("gave TCP nothing to send" in text for text in texts), texts


def test_a_slow_reader(tmp_path: Path) -> None:
    with network() as net:
        reader = net.server(pause_s=0.1, size=32_768)
        argv = [sys.executable, "-m", "multitracer", "record", "-o", str(tmp_path / "r"), "-i", net.peer]
        with reader:
            recorder = subprocess.Popen(
                net.argv(net.b, *argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            _wait_for(tmp_path / "r" / "measurement.toml")
            subprocess.run(net.argv(net.a, *net.client(600_000)), check=True, timeout=60)
            recorder.send_signal(signal.SIGINT)
            said, _ = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, said
    host = recorded_host(tmp_path / "r")
    assert host["point"] == "rcv"
    assert host["application"]["bytes_read"] == 600_000
    assert host["application"]["read_away_s"] > 0.5
    # This kernel's CPUs received at least what the interface did, and the reader's delay is no CPU's.
    assert host["receiving"]["softnet"]["processed"] >= host["device"]["packets_received"]
    assert host["receiving"]["softnet"]["cpu_busy"] is None


def test_both_hosts_of_a_transfer(tmp_path: Path) -> None:
    """A recording at each end, two directories: one measurement with a host at each point."""
    with network(["tbf", "rate", "20mbit", "burst", "2kb", "limit", "200kb"], offload=False) as net:
        argv = [sys.executable, "-m", "multitracer", "record", "-o", str(tmp_path / "b"), "-i", net.peer]
        with net.server():
            recorder = subprocess.Popen(net.argv(net.b, *argv), stdout=subprocess.DEVNULL)
            _wait_for(tmp_path / "b" / "measurement.toml")
            said = net.record(str(tmp_path / "a"), "--", *net.client(2_000_000))
            assert said.returncode == 0, said.stderr
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(60) == 0
    m = mt.read(tmp_path / "a", tmp_path / "b")
    # The directory that holds both, and nothing else, stands for them.
    assert [one.path for one in mt.read(tmp_path).sources] == [one.path for one in m.sources]
    found = mt.analyze(m, only=["host"]).results["host"].summary
    assert set(found["points"]) == {"snd", "rcv"}
    sender, receiver = found["points"]["snd"], found["points"]["rcv"]
    assert found["source"] == sender["source"] == str(tmp_path / "a" / "kernel.trace")
    assert sender["application"]["bytes_written"] == receiver["application"]["bytes_read"] == 2_000_000
    assert sender["application"]["bytes_read"] == receiver["application"]["bytes_written"] == 0
    assert sender["unjoined"]["segments"] == receiver["unjoined"]["segments"] == 0
    assert sender["qdisc"]["packets"] > 1000 > receiver["qdisc"]["packets"]
    # A packet of the middle: from the write to the read.
    analysis = mt.analyze(m)
    captures = [one for one, source in enumerate(m.sources) if source.layer == "tcp"]
    texts = ""
    for source in captures:
        segments = m.table("segments")
        rows = np.flatnonzero((segments["source"] == source) & (segments["length"] > 0))
        record = int(segments["record"][rows[len(rows) // 2]])
        texts += " ".join(text for text, _ in host_sentences(m, analysis.results, source, record))
    for words in (
        "the application wrote",
        "queueing discipline",
        "the driver had it",
        "to the stack of this",
    ):
        assert words in texts
    assert "the application had read its last byte" in texts


def test_an_anonymized_recording_has_no_address_and_says_the_same(tmp_path: Path) -> None:
    with network(["tbf", "rate", "20mbit", "burst", "16kb", "limit", "30kb"], offload=False) as net:
        with net.server():
            options = ("--anonymize", "--anonymize-key", str(tmp_path / "key"))
            said = net.record(str(tmp_path / "r"), *options, "--", *net.client(1_000_000))
        assert said.returncode == 0, said.stderr
        drops = drops_of_tc(net)
    for path in (tmp_path / "r").iterdir():
        content = path.read_bytes()
        for word in (b"10.91.0.", b"\x0a\x5b\x00", b"python"):
            assert word not in content, path
    host = recorded_host(tmp_path / "r")
    assert host["qdisc"]["dropped"] == host["qdisc"]["dropped_by_tc"] == drops > 0
    assert host["application"]["bytes_written"] == 1_000_000
    assert host["unjoined"]["segments"] == 0
    assert host["point"] == "snd"


def test_nothing_stays_switched_on_after_sigkill(tmp_path: Path) -> None:
    with network() as net:
        argv = [sys.executable, "-m", "multitracer", "record", "-o", str(tmp_path / "r"), "-i", net.device]
        recorder = subprocess.Popen(
            net.argv(net.a, *argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait_for(tmp_path / "r" / "measurement.toml")
        with net.server():
            subprocess.run(net.argv(net.a, *net.client(300_000)), check=True, timeout=60)
        time.sleep(1.5)
        # `ip netns exec` becomes the recorder itself.
        name = f"multitracer-{recorder.pid}"
        assert name in instances()
        recorder.kill()
        recorder.wait()
        deadline = time.monotonic() + 15
        while name in instances() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert name not in instances()
    host = recorded_host(tmp_path / "r")
    assert host["application"]["bytes_written"] == 300_000


def test_only_instances_that_nobody_holds_are_removed(tmp_path: Path) -> None:
    """A lab that runs beside a recording keeps its trace, another container may have our number."""
    name = f"multitracer-{os.getpid()}"
    tracefs = tracing.reach(True)
    labs = f"{name}999"
    lab = Tracepoints(labs, str(tmp_path / "lab"), range(5001, 5002), (), "mono", 64)
    left, taken = (f"{tracefs.root}/instances/{one}" for one in (f"{name}998", name))
    try:
        os.mkdir(left)
        assert os.path.basename(left) in tracing.remove_leftovers(tracefs)
        assert not os.path.exists(left)
        assert Path(f"{tracefs.root}/instances/{labs}/tracing_on").read_text() == "1\n"
        os.mkdir(taken)
        ours = tracing.Tracing(tracing.Tracefs(tracefs.root), str(tmp_path / "log"), [], 64)
        assert ours.instance == f"{taken}-1"
        ours.finish()
        ours.close()
    finally:
        lab.close()
        for path in (left, taken):
            with suppress(OSError):
                os.rmdir(path)
        if tracefs.ours:
            system.unmount(tracefs.root)


def test_a_full_disk_ends_it_and_what_is_there_reads(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=True)
    try:
        with network() as net, net.server():
            said = net.record(str(small / "r"), "--json", "--", *net.client(60_000_000, chunk=1448))
            outcome = json.loads(said.stdout)
            assert outcome["ended_by"] in ("disk", "failure"), said
            assert said.returncode == 4 or outcome["status"]
            host = recorded_host(small / "r")
            assert host["application"]["bytes_written"] > 0
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_command_that_fills_the_disk_and_ends_does_not_hide_it(tmp_path: Path) -> None:
    """The command's end and the full disk are seen in the same step: what went wrong is said."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], check=True)
    try:
        with network() as net:
            fill = f"head -c 8000000 /dev/zero > {small}/filling; true"
            said = net.record(str(small / "r"), "--json", "--", "sh", "-c", fill)
            outcome = json.loads(said.stdout)
            assert outcome["ended_by"] in ("disk", "failure"), said
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_an_overrun_is_counted(tmp_path: Path) -> None:
    """A buffer that is too small loses events, and the number bounds what may be said."""
    with network() as net, net.server():
        said = net.record(
            str(tmp_path / "r"), "--buffer", "64K", "--json", "--", *net.client(30_000_000, 512)
        )
    outcome = json.loads(said.stdout)
    if not outcome["lost_events"]:
        pytest.skip("this machine was fast enough for the smallest buffer")
    assert said.returncode == 4
    assert recorded_host(tmp_path / "r")["lost_events"] >= outcome["lost_events"]


def test_an_interface_that_vanishes(tmp_path: Path) -> None:
    with network() as net:
        argv = [sys.executable, "-m", "multitracer", "record", "-o", str(tmp_path / "r"), "-i", net.device]
        recorder = subprocess.Popen(
            net.argv(net.a, *argv, "--for", "20s", "--json"), stdout=subprocess.PIPE, text=True
        )
        _wait_for(tmp_path / "r" / "measurement.toml")
        with net.server():
            subprocess.run(net.argv(net.a, *net.client(300_000)), check=True, timeout=60)
        time.sleep(1.2)
        subprocess.run(["ip", "-n", net.a, "link", "del", net.device], check=True)
        out, _ = recorder.communicate(timeout=60)
    assert json.loads(out)["ended_by"] == "failure"
    assert recorded_host(tmp_path / "r")["application"]["bytes_written"] == 300_000
    assert f"multitracer-{recorder.pid}" not in instances()


def test_a_recording_that_does_not_begin_leaves_nothing(tmp_path: Path) -> None:
    with network() as net:
        said = net.record(str(tmp_path / "r"), "--filter", "no such (", "--for", "1s")
    assert said.returncode == 3
    assert "does not start" in said.stderr
    assert not (tmp_path / "r").exists()


def test_a_command_that_is_not_there_leaves_the_name_free(tmp_path: Path) -> None:
    with network() as net:
        said = net.record(str(tmp_path / "r"), "--", "no-such-command")
    assert said.returncode == 3
    assert "no-such-command: No such file or directory" in said.stderr
    assert not (tmp_path / "r").exists()


def test_without_root_the_rest_is_recorded_and_what_is_missing_is_said() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = Path(folder, "r")
        argv = ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-m", "multitracer"]
        argv += ["record", "-o", str(path), "-i", "lo", "--for", "0.5s"]
        said = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=ROOT)
        if "PermissionError" in said.stderr or "ModuleNotFoundError" in said.stderr:
            pytest.skip("the package cannot be read by another user")
        assert said.returncode == 0, said.stderr
        assert "CAP_NET_RAW" in said.stderr
        assert "root" in said.stderr
        assert mt.read(path / "counters.log").rows("host_counters") > 0


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)
    time.sleep(0.3)
