"""Large captures for the benchmark: recorded from iperf3 between namespaces, or synthesised.

Usage: python benchmarks/captures.py FILE PACKETS [--queue TBF] [--point client|router|server]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

NEEDED = ("ip", "iperf3", "tcpdump")
BYTES_PER_PACKET = 4_000
"""About what iperf3 moves per captured packet at an MTU of 1500 without offload, ACKs counted."""
STREAMS = 50
ONCE = 1_000_000
"""Packets of one transfer: a minute and more of it."""
QUEUE = "rate 150mbit burst 32kb limit 100kb"
"""The bottleneck at the router (`tc-tbf`): 100 kB hold one or two packets of each stream."""
POINTS = ("client", "router", "server")
"""Where it may be recorded: at the sender, at the router before its queue, at the receiver."""


def make(path: Path, packets: int, queue: str = QUEUE, point: str = POINTS[0]) -> bool:
    """Record a capture of about `packets` packets; of many, `ONCE`, which follow each other several times.

    False if this machine cannot.
    """
    times = -(-packets // ONCE)
    once = path if times == 1 else path.with_suffix(".once")
    if not record(once, packets // times, queue, point):
        return False
    if times > 1:
        repeat(once, path, times)
        once.unlink()
    return True


def record(path: Path, packets: int, queue: str = QUEUE, point: str = POINTS[0]) -> bool:
    """Record a capture of about `packets` packets at one of `POINTS`; False if this machine cannot."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in NEEDED):
        return False
    client, router, server = names = [f"mt{name[0]}{os.getpid()}" for name in POINTS]
    try:
        _network(client, router, server, queue)
    except subprocess.CalledProcessError:
        _remove(client, router, server)
        return False
    temporary = path.with_suffix(".part")
    try:
        listener = _start(server, "iperf3", "-s", "-1")
        dump = _start(
            names[POINTS.index(point)],
            "tcpdump",
            "-i",
            "veth0",
            "-s",
            "96",
            "-B",
            "65536",
            "-w",
            str(temporary),
            "-c",
            str(packets),
            "tcp",
        )
        time.sleep(1.0)
        amount = str(packets * BYTES_PER_PACKET)
        _in(client, "iperf3", "-c", "10.99.1.2", "-n", amount, "-P", str(STREAMS), "-M", "1400", timeout=600)
        listener.wait(timeout=30)
        time.sleep(1.0)
        dump.terminate()
        dump.wait(timeout=60)
        temporary.rename(path)
        return True
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False
    finally:
        temporary.unlink(missing_ok=True)
        _remove(client, router, server)


def repeat(source: Path, target: Path, times: int) -> None:
    """Write a capture of `record` several times, one after the other, each of another client."""
    import numpy as np

    data = np.fromfile(source, np.uint8)
    whole, places, at = data.tobytes(), [], 24
    while at + 16 <= len(whole):
        places.append(at)
        at += 16 + struct.unpack_from("<I", whole, at + 8)[0]
    seconds = np.array([struct.unpack_from("<I", whole, place)[0] for place in places])
    record = np.array(places)
    ip = record + 16 + 14
    # The third byte of the client's address, 10.99.0.1, which is 0; and the header's sum, in which it counts.
    third = np.where(data[ip + 15] == 1, ip + 14, ip + 18)
    total = 0xFFFF ^ (data[ip + 10].astype(np.int64) << 8 | data[ip + 11])
    with target.open("wb") as file:
        file.write(whole[:24])
        for number in range(times):
            data[third] = number
            moved = total + (number << 8)
            moved = 0xFFFF ^ (moved & 0xFFFF) + (moved >> 16)
            data[ip + 10], data[ip + 11] = moved >> 8, moved & 0xFF
            later = seconds + number * (int(seconds[-1] - seconds[0]) + 60)
            for byte in range(4):
                data[record + byte] = later >> 8 * byte & 0xFF
            file.write(memoryview(data)[24:at])


def synthesise(path: Path, packets: int) -> None:
    """Write a capture of one long transfer: two data segments, one ACK, and every 500th segment again."""
    ethernet = bytes.fromhex("0200000000020200000000010800")
    with path.open("wb", buffering=1 << 20) as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1))
        t_us, seq, written = 0, 1, 0

        def put(client: bool, seq: int, ack: int, flags: int, length: int) -> None:
            nonlocal t_us, written
            t_us += 40
            ip_length = 40 + length
            addresses = (0x0A630001, 0x0A630002) if client else (0x0A630002, 0x0A630001)
            ports = (40000, 5201) if client else (5201, 40000)
            packet = ethernet + struct.pack(
                ">BBHHHBBHII", 0x45, 0, ip_length, 0, 0x4000, 64, 6, 0, *addresses
            )
            packet += struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, 0x50, flags, 65535, 0, 0)
            kept = packet + bytes(min(96, len(packet) + length) - len(packet))
            file.write(struct.pack("<IIII", t_us // 1_000_000, t_us % 1_000_000, len(kept), 14 + ip_length))
            file.write(kept)
            written += 1

        put(True, 0, 0, 0x02, 0)
        put(False, 0, 1, 0x12, 0)
        put(True, 1, 1, 0x10, 0)
        segment = 0
        while written < packets:
            for _ in range(2):
                put(True, seq, 1, 0x10, 1448)
                segment += 1
                if segment % 500 == 0:
                    put(True, seq, 1, 0x10, 1448)
                seq += 1448
            put(False, 1, seq, 0x10, 0)


def count_packets(path: Path) -> int:
    """Records of a little-endian pcap, by walking its record headers."""
    count = 0
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(24)
        while len(header := file.read(16)) == 16:
            kept = struct.unpack_from("<I", header, 8)[0]
            if len(file.read(kept)) < kept:
                break
            count += 1
    return count


def _network(client: str, router: str, server: str, queue: str) -> None:
    for command in (
        f"ip netns add {client}",
        f"ip netns add {router}",
        f"ip netns add {server}",
        f"ip -n {client} link add veth0 type veth peer name veth0 netns {router}",
        f"ip -n {router} link add veth1 type veth peer name veth0 netns {server}",
        f"ip -n {client} addr add 10.99.0.1/24 dev veth0",
        f"ip -n {router} addr add 10.99.0.254/24 dev veth0",
        f"ip -n {router} addr add 10.99.1.254/24 dev veth1",
        f"ip -n {server} addr add 10.99.1.2/24 dev veth0",
        f"ip -n {client} link set veth0 up",
        f"ip -n {router} link set veth0 up",
        f"ip -n {router} link set veth1 up",
        f"ip -n {server} link set veth0 up",
        f"ip -n {client} route add default via 10.99.0.254",
        f"ip -n {server} route add default via 10.99.1.254",
        f"ip netns exec {router} sysctl -q -w net.ipv4.ip_forward=1",
        # Real packets, not 64 KB super-segments: the count of packets is what the benchmark is about.
        f"ip -n {client} link set veth0 gso_max_segs 1",
        f"ip -n {server} link set veth0 gso_max_segs 1",
        # A queue that drops, so that retransmissions, SACK and recovery are part of the work.
        f"ip netns exec {router} tc qdisc add dev veth1 root tbf {queue}",
    ):
        subprocess.run(command.split(), check=True, capture_output=True)


def _remove(*names: str) -> None:
    for name in names:
        pids = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True)
        for pid in pids.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 15)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _start(namespace: str, *command: str) -> subprocess.Popen[bytes]:
    words = ["ip", "netns", "exec", namespace, *command]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _in(namespace: str, *command: str, timeout: float) -> None:
    words = ["ip", "netns", "exec", namespace, *command]
    subprocess.run(words, check=True, capture_output=True, timeout=timeout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Record a large capture, or synthesise one.")
    parser.add_argument("file", type=Path)
    parser.add_argument("packets", type=int)
    parser.add_argument("--queue", default=QUEUE, help=f"of the router, as tc-tbf has it ({QUEUE})")
    parser.add_argument(
        "--point", choices=POINTS, default=POINTS[0], help="where it is recorded (%(default)s)"
    )
    options = parser.parse_args()
    if not make(options.file, options.packets, options.queue, options.point):
        print("no namespaces, iperf3 or tcpdump here: the capture is synthetic")
        synthesise(options.file, options.packets)


if __name__ == "__main__":
    main()
