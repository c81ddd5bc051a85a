"""What a station's power save does to TCP: transfers made of packets and frames, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import support_wifi as wifi
from support_wifi import Heard, exchange

import multitracer as mt

ROUNDS, SEGMENT = 40, 1000
PATH_US, ANSWER_US, SLEEP_US = 1500, 10_000, 150_000
"""Host to host, how long the receiver takes for its ACK, how long the station sleeps."""


class Transfer:
    """A station that sends two segments a round trip, and sleeps in some rounds until 150 ms later."""

    def __init__(self, asleep: frozenset[int], receiver_waits: bool = False) -> None:
        self.snd: list[tuple[int, bytes]] = []
        self.rcv: list[tuple[int, bytes]] = []
        self.air: list[Heard] = []
        self.numbers = [0, 0]
        self._up(0, 0, 0, 0x02)
        self._down(5_000, 0, 1, 0x12)
        t_us, seq = 20_000, 1
        self._up(7_000, seq, 1, 0x10)
        for number in range(ROUNDS):
            for k in range(2):
                self._up(t_us + k * 2_000, seq + k * SEGMENT, 1, 0x18, SEGMENT)
            seq += 2 * SEGMENT
            acked_us, awake_us = t_us + 2_000 + PATH_US + ANSWER_US, 0
            if number in asleep:
                self.air += exchange(t_us + 5_000, wifi.null(True))
                awake_us = t_us + 5_000 + SLEEP_US
                self.air += exchange(awake_us, wifi.null(False))
                acked_us = awake_us + 1000 if receiver_waits else acked_us
            t_us = self._down(acked_us, 1, seq, 0x10, awake_us) + 500

    def write(self, folder: Path) -> Path:
        """A measurement of both hosts and the air."""
        for name, packets in (("snd", self.snd), ("rcv", self.rcv)):
            out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
            for t_us, packet in sorted(packets):
                seconds, rest = divmod(wifi.BEGIN_NS + t_us * 1000, 10**9)
                out.append(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
            (folder / f"{name}.pcap").write_bytes(b"".join(out))
        wifi.capture(folder / "wifi.pcap", sorted(self.air))
        said = "clock_offset_s = 0.0\nclock_uncertainty_s = 0.001\n"
        sources = (f'[sources."{name}.pcap"]\n{said}' for name in ("snd", "rcv", "wifi"))
        (folder / "measurement.toml").write_text("\n".join(sources))
        return folder

    def _up(self, t_us: int, seq: int, ack: int, flags: int, length: int = 0) -> None:
        packet = _packet(seq, ack, flags, length, down=False)
        self.snd.append((t_us, packet))
        self._frame(t_us + 300, packet, down=False)
        self.rcv.append((t_us + PATH_US, packet))

    def _down(self, t_us: int, seq: int, ack: int, flags: int, awake_us: int = 0) -> int:
        packet = _packet(seq, ack, flags, 0, down=True)
        self.rcv.append((t_us, packet))
        sent_us = max(t_us + 300, awake_us + 700)
        self._frame(sent_us, packet, down=True)
        self.snd.append((sent_us + 1200, packet))
        return sent_us + 1200

    def _frame(self, t_us: int, packet: bytes, *, down: bool) -> None:
        self.air += exchange(t_us, wifi.data(self.numbers[down], wifi.LLC_IP + packet, down=down))
        self.numbers[down] += 1


def _packet(seq: int, ack: int, flags: int, length: int, *, down: bool) -> bytes:
    ports, ends = (40000, 5001), (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    ports, ends = (ports[::-1], ends[::-1]) if down else (ports, ends)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + bytes(length)
    number = (seq + ack) % 65536
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + b"".join(ends) + tcp


def test_an_ack_that_waited_for_the_station_is_why_the_link_was_idle(tmp_path: Path) -> None:
    analysis = mt.analyze(mt.read(Transfer(frozenset({12, 30})).write(tmp_path)))
    summary = analysis.results["idle_phases"].summary
    asleep = [phase for phase in summary["phases"] if phase["cause"] == "power_save"]
    assert len(asleep) == summary["causes"]["power_save"]["phases"] == 2
    for phase in asleep:
        assert phase["end"] - phase["start"] == pytest.approx(0.15, abs=0.02)
        assert "waited for the station to wake up" in phase["because"]
        assert phase["wake_record"]
    others = {phase["cause"] for phase in summary["phases"]} - {"power_save"}
    assert others == {"handshake/slow_start", "application"}  # the last ACK was awaited, and came at once


def test_the_last_ack_may_have_waited_too(tmp_path: Path) -> None:
    analysis = mt.analyze(mt.read(Transfer(frozenset({ROUNDS - 1})).write(tmp_path)))
    last = analysis.results["idle_phases"].summary["phases"][-1]
    assert (last["cause"], last["wake_record"]) == ("power_save", None)


@pytest.mark.parametrize("receiver_waits", [True, False])
def test_sleep_that_no_ack_waited_for_is_no_cause(receiver_waits: bool, tmp_path: Path) -> None:
    """The receiver itself answered when the station was awake; or it never slept."""
    asleep = frozenset({12, 30}) if receiver_waits else frozenset[int]()
    analysis = mt.analyze(mt.read(Transfer(asleep, receiver_waits).write(tmp_path)))
    summary = analysis.results["idle_phases"].summary
    assert summary["phases"]
    assert "power_save" not in summary["causes"]


def test_clocks_that_may_be_wrong_by_more_leave_it_open(tmp_path: Path) -> None:
    folder = Transfer(frozenset({12, 30})).write(tmp_path)
    said = (folder / "measurement.toml").read_text()
    (folder / "measurement.toml").write_text(said.replace("= 0.001", "= 0.1"))
    summary = mt.analyze(mt.read(folder)).results["idle_phases"].summary
    assert summary["phases"]
    assert "power_save" not in summary["causes"]
