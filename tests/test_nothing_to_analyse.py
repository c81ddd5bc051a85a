"""Requests that cannot be answered: the message says why, and what to do."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
from support_conversation import HOST_A, HOST_B, RAW, Conversation, checksum
from support_samples import SAMPLES, Run

from multitracer.api.pcapfilter import compiled
from multitracer.diagnosis.explain import recovery
from multitracer.diagnosis.explain.rules import VOTES
from multitracer.model.errors import UsageError
from multitracer.model.quantities import votes


def udp(path: Path, packets: int) -> Path:
    """A capture of UDP alone; without a packet only its header."""
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, RAW)
    payload = struct.pack(">HHHH", 4000, 53, 8, 0)
    packet = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, HOST_A, HOST_B) + payload)
    struct.pack_into(">H", packet, 10, checksum(bytes(packet[:20])))
    record = struct.pack("<IIII", 1_000, 0, len(packet), len(packet)) + bytes(packet)
    path.write_bytes(head + packets * record)
    return path


@pytest.mark.parametrize(
    ("packets", "said"),
    [(0, "no packets"), (1, "1 packet, not of TCP"), (3, "3 packets, none of them TCP")],
)
def test_a_capture_without_tcp_is_nothing_to_analyse(
    packets: int, said: str, run: Run, tmp_path: Path
) -> None:
    path = udp(tmp_path / "other.pcap", packets)
    for words in (("analyze", path), ("report", path, "-o", tmp_path / "page.html")):
        done = run(*words)
        assert done.returncode == 3
        assert done.stderr == f"multitracer: error: {path}: {said}\n"
        assert not done.stdout
    assert not (tmp_path / "page.html").exists()
    (tmp_path / "runs" / "only").mkdir(parents=True)
    path.rename(tmp_path / "runs" / "only" / "other.pcap")
    done = run("batch", tmp_path / "runs", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert re.search(r"failed +1\n +only: .*" + said, done.stdout)


def test_a_batch_says_why_a_capture_is_left_out(run: Run, tmp_path: Path) -> None:
    """What analyze says of it."""
    root = tmp_path / "runs"
    root.mkdir()
    for port in (4000, 4001):
        one = Conversation(port_a=port, isn_a=port * 1000)
        one.handshake()
        one.warm_up()
        one.write(root / f"{port}.pcap")
    (root / "empty.pcap").write_bytes(b"")
    (root / "text.pcap").write_bytes(b"no capture at all")
    done = run("batch", root, "-o", tmp_path / "out")
    assert "left out: empty.pcap: the file is empty\n" in done.stdout
    assert "left out: text.pcap: not a trace of a known format\n" in done.stdout


def test_a_directory_of_measurements_is_for_batch(run: Run, tmp_path: Path) -> None:
    one = Conversation()
    one.handshake()
    one.warm_up()
    (tmp_path / "README.md").write_text("# Traces\n")
    (tmp_path / "empty").mkdir()
    done = run("analyze", tmp_path)
    assert "multitracer batch" not in done.stderr
    (tmp_path / "run1").mkdir()
    one.write(tmp_path / "run1" / "snd.pcap")
    done = run("analyze", tmp_path)
    assert done.returncode == 3
    assert "no readable trace among 1 file (README.md: " in done.stderr
    assert f"there are traces in {tmp_path / 'run1'}: `multitracer batch {tmp_path} -o OUT`" in done.stderr


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("tcp.port == 80", "write 'port 80'"),
        ("ip.addr==10.0.0.1 && tcp.port==80", "write 'host 10.0.0.1'"),
        ("tcp.stream eq 3", "name the connection with --conn 3"),
        ("tcp.analysis.retransmission", "write a capture filter: 'host 10.0.0.2 and port 443'"),
    ],
)
def test_a_display_filter_is_told_from_a_capture_filter(text: str, advice: str) -> None:
    with pytest.raises(UsageError, match="display filter of Wireshark") as refused:
        compiled(text)
    assert advice in str(refused.value)


@pytest.mark.parametrize("text", ["host 10.0.0.1", "net 10.1", "host ::ffff:10.0.0.1", "tcp port 80"])
def test_a_capture_filter_is_no_display_filter(text: str) -> None:
    compiled(text)


def test_a_packet_beyond_the_last_is_told_from_one_that_is_not_of_tcp(run: Run) -> None:
    done = run("explain", SAMPLES / "bbr", "--packet", "99999")
    assert done.returncode == 2
    assert "snd.pcap: there is no packet 99,999; it has 1,042 packets" in done.stderr


def test_an_interrupted_batch_says_how_far_it_came(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from multitracer.batch.progress import Progress

    def stopped(*_: object, progress: Any, **__: object) -> None:
        state = Progress(51, 1)
        state.done = 10
        progress(state)
        raise KeyboardInterrupt

    monkeypatch.setattr("multitracer.batch.batch", stopped)
    done = run("batch", SAMPLES, "-o", tmp_path / "out")
    assert done.returncode == 130
    assert "10 of 51 done; run the same command again to resume" in done.stderr


def test_explanations_of_a_recovery_are_sentences(run: Run) -> None:
    text = " ".join(run("explain", SAMPLES / "spurious-timeouts", "--packet", "149").stdout.split())
    assert "1 segment retransmitted (1 RTO), at 57.161429 s" in text
    assert "to 57.161429 s" not in text
    assert "an ACK echoed a timestamp from before the retransmission" in text
    assert not any("old echo" in one for one in recovery._UNDONE.values())
    assert "_" not in votes(dict.fromkeys(VOTES, "genuine"))
