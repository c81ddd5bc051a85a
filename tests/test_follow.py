"""A capture that is followed while it is written says in the end what is said of the same bytes in a file."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from support_samples import PATIENCE_S

import multitracer as mt
from multitracer.api.follow import Follower
from multitracer.cli import live
from multitracer.cli.follow import line
from multitracer.cli.main import group
from multitracer.model.errors import CorruptTrace, MultiTracerError, UnreadableFile, UsageError

ROOT = Path(__file__).parent.parent
CAPTURE = ROOT / "sample_traces" / "link-resets-vj" / "snd.pcap"
COMMAND = [sys.executable, "-m", "multitracer", "analyze", "--follow"]


def piped(*words: str, path: str = "-", **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, path, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def until(process: subprocess.Popen[bytes], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first running summary of which something holds; when that comes is up to the machine."""
    assert process.stdout is not None
    while True:
        text = process.stdout.readline()
        assert text, "it ended before"
        running: dict[str, Any] = json.loads(text)["running"]
        if holds(running):
            return running


def parsed(output: bytes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Running summaries, and the last line."""
    lines = [json.loads(text) for text in output.splitlines()]
    assert all(set(entry) == {"running"} for entry in lines[:-1])
    return [entry["running"] for entry in lines[:-1]], lines[-1]


def analyzed(data: bytes, *words: str) -> dict[str, Any]:
    """What ``analyze`` says of the same bytes on standard input."""
    done = subprocess.run(
        [*COMMAND[:-1], "-", "--json", *words],
        input=data,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return dict(json.loads(done.stdout))


def connection(port: int) -> bytes:
    """Two records: a SYN, and a segment of a hundred bytes."""
    out = b""
    for seq, flags, payload in ((0, 2, 0), (1, 16, 100)):
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0, 0x0A000001, 0x0A000002)
        tcp = struct.pack(">HHIIBBHHH", port, 80, seq, 0, 0x50, flags, 65535, 0, 0)
        packet = ip + tcp + bytes(payload)
        out += struct.pack("<IIII", port, seq, len(packet), len(packet)) + packet
    return out


HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)


@pytest.mark.parametrize("detail", ["--summary", "--full"])
def test_a_pipe_says_the_same(detail: str) -> None:
    data = CAPTURE.read_bytes()
    process = piped("--json", "--interval", "0.1", detail)
    assert process.stdin is not None
    process.stdin.write(data[:50_000])
    process.stdin.flush()
    first = until(process, lambda running: running["records"] > 0)
    output, errors = process.communicate(data[50_000:], timeout=PATIENCE_S)
    running, last = parsed(output)
    assert (process.returncode, errors) == (0, b"")
    assert 0 < first["records"] < last["sources"][0]["records"]
    assert last == analyzed(data, detail)
    for before, after in zip([first, *running], running, strict=False):
        assert before["records"] <= after["records"]


def test_no_command_reads_a_pipe_again() -> None:
    process = piped("--json", "--full")
    output, _ = process.communicate(CAPTURE.read_bytes(), timeout=PATIENCE_S)
    said = parsed(output)[1]["diagnosis"]
    assert said
    assert [one["command"] for one in said] == [None] * len(said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_file_that_grows(tmp_path: Path, number: signal.Signals) -> None:
    path, data = tmp_path / "growing.pcap", CAPTURE.read_bytes()
    path.write_bytes(data[:60_000])
    process = piped("--json", "--interval", "0.1", path=str(path))
    until(process, lambda running: running["bytes_read"] >= 60_000)
    with path.open("ab") as file:
        file.write(data[60_000:-9])
    until(process, lambda running: running["bytes_read"] >= len(data) - 9)
    process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE_S)
    _, last = parsed(output)
    assert (process.returncode, errors) == (0, b"")
    there = [{**entry, "source": "-"} for entry in last["connections"]]
    assert there == analyzed(data[:-9], "--summary")["connections"]
    # Nine bytes of the last record have not come: that is said.
    assert [i["code"] for i in last["issues"] if i["severity"] == "error"] == ["truncated-file"]


def test_a_writer_that_goes_on_does_not_keep_it(tmp_path: Path) -> None:
    process = piped("--json", "--interval", "0.1")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HEADER + connection(1000))
    process.stdin.flush()
    until(process, lambda running: running["records"] >= 2)
    process.send_signal(signal.SIGINT)
    # The pipe stays open, and is silent.
    _, last = parsed(process.stdout.read())
    assert (process.wait(timeout=PATIENCE_S), len(last["connections"]), last["issues"][0]["code"]) == (
        0,
        1,
        "missing-handshake",
    )
    process.stdin.close()
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


def test_nobody_reads_the_output() -> None:
    process = piped("--json", "--interval", "0.1")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(HEADER + connection(1000))
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_S) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()


def test_text_without_a_terminal() -> None:
    process = piped("--interval", "0.1")
    assert process.stdin is not None
    assert process.stdout is not None
    data = CAPTURE.read_bytes()
    process.stdin.write(data[:50_000])
    process.stdin.flush()
    while (first := process.stdout.readline().decode()) == "no packets yet\n":
        pass  # on a busy machine the first summary comes before the first packet
    output, _ = process.communicate(data[50_000:], timeout=PATIENCE_S)
    assert "packets (+" in first
    assert "1 connection, 1 active" in first
    assert "Connection 0: 10.77.31.1:45856" in output.decode()


def test_text_before_the_first_packet() -> None:
    process = piped("--interval", "0.1")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HEADER)
    process.stdin.flush()
    assert process.stdout.readline() == b"no packets yet\n"
    output, _ = process.communicate(connection(1000), timeout=PATIENCE_S)
    assert b"Connection 0" in output


def test_strict_tells_a_cut_record() -> None:
    done = subprocess.run(
        [*COMMAND, "-", "--strict"],
        input=CAPTURE.read_bytes()[:-5],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 4
    assert b"truncated-file" in done.stderr


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(HEADER + connection(1000),))
    writer.start()
    with Follower(path) as follower:
        assert follower.wait(PATIENCE_S)
        assert len(follower.measurement().connections) == 1
    writer.join()


def test_the_longest_silent_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    path.write_bytes(HEADER + b"".join(connection(port) for port in range(1000, 1040)))
    with Follower(path, connections=8) as follower:
        follower.stop()
        assert follower.wait(PATIENCE_S)
        running = follower.running(busiest=2)
        measurement = follower.measurement()
    assert (running["connections"], running["bytes"]["sent"]) == (40, 4000)
    assert len(running["interval"]["busiest"]) == 2
    ends = [connection.endpoints[0][1] for connection in measurement.connections]
    assert ends == list(range(1040 - len(ends), 1040))
    assert len(ends) <= 8
    issues = {issue.code: issue.count for issue in measurement.traces[0].issues}
    assert issues == {"forgotten-connections": running["forgotten_connections"], "missing-handshake": 40}


def test_running_counts_are_those_of_the_end(tmp_path: Path) -> None:
    with Follower(CAPTURE) as follower:
        follower.stop()
        follower.wait(PATIENCE_S)
        running = follower.running()
        found = mt.analyze(follower.measurement()).to_dict()["connections"][0]
    assert running["retransmissions"] == found["retransmissions"]
    assert running["bytes"] == {key: found["bytes"][key] for key in ("sent", "duplicate")}
    assert {**running["timeouts"]} == found["timeouts"]
    assert running["interval"]["busiest"][0]["endpoints"] == found["endpoints"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["."], "cannot be followed"),
        (["http://localhost/a.pcap"], "cannot be followed"),
        ([str(CAPTURE), str(CAPTURE)], "reads one capture"),
        ([str(CAPTURE), "--format", "nonsense"], "unknown format"),
        ([str(CAPTURE.with_name("rlp.log.gz")), "--max-connections", "7"], "rlpdump cannot be followed"),
    ],
)
def test_what_cannot_be_followed(words: list[str], message: str) -> None:
    outcome = CliRunner().invoke(group, ["analyze", "--follow", *words])
    assert isinstance(outcome.exception, UsageError)
    assert message in str(outcome.exception)


def test_options_of_following_need_it() -> None:
    outcome = CliRunner().invoke(group, ["analyze", str(CAPTURE), "--interval", "2"])
    assert isinstance(outcome.exception, UsageError)


def test_an_empty_pipe_is_an_error() -> None:
    done = subprocess.run([*COMMAND, "-"], input=b"", capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert b"the file is empty" in done.stderr


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        Follower(tmp_path / "nothing.pcap")


def test_a_header_that_never_comes(tmp_path: Path) -> None:
    path = tmp_path / "short.pcap"
    path.write_bytes(HEADER[:20])
    with Follower(path) as follower:
        follower.stop()
        with pytest.raises(CorruptTrace, match="inside its header"):
            follower.measurement()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_bytes_say_the_same(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(HEADER + b"".join(connection(port) for port in range(1000, 1010)))
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(4, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.pcap"
    path.write_bytes(whole[: data.draw(st.integers(25, len(whole)))])

    def followed() -> object:
        with Follower(path) as follower:
            follower.stop()
            return follower.measurement()

    outcomes: list[object] = []
    for read in (followed, lambda: mt.read(path, detail="summary")):
        try:
            outcomes.append(mt.analyze(read()).to_dict())  # type: ignore[arg-type]
        except MultiTracerError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_the_table_on_a_terminal() -> None:
    from rich.console import Console

    with Follower(CAPTURE) as follower:
        follower.stop()
        follower.wait(PATIENCE_S)
        found = follower.running()
    for width, has_more in ((80, False), (140, True)):
        console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
        console.print(live.drawn("standard input", found, width, 30))
        text = console.export_text()
        console.file.close()
        assert "10.77.31.1:45856" in text
        assert "35" in text
        assert ("in flight" in text) is has_more
    assert "449 packets (+449)" in line(found)
