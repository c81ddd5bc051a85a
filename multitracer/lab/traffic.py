"""Senders and receivers of the lab, in the manner of Stevens' `sock`: run as a program inside a namespace.

Standard library only, and nothing of this package: it is started by path, in isolated mode. One process plays
one end of all flows, a thread per flow. One JSON argument defines the task; it prints ``{"ready": true}``
once every server listens, starts on the first line of its input, and reports one JSON line per fact.

Reference: W. R. Stevens, TCP/IP Illustrated, Volume 1, appendix C (the `sock` program).
"""

from __future__ import annotations

import json
import random
import socket
import string
import struct
import sys
import threading
import time
import zlib
from typing import Any

Flow = dict[str, Any]

_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_BLOCK = 65_536
_REPORT_S = 0.5
_LOCK = threading.Lock()
_TCP_INFO = {
    "snd_mss": ("=I", 16),
    "rtt": ("=I", 68),
    "snd_cwnd": ("=I", 80),
    "total_retrans": ("=I", 100),
    "bytes_acked": ("=Q", 120),
    "segs_out": ("=I", 136),
    "segs_in": ("=I", 140),
    "min_rtt": ("=I", 148),
    "data_segs_out": ("=I", 156),
    "busy_time": ("=Q", 168),
    "rwnd_limited": ("=Q", 176),
    "sndbuf_limited": ("=Q", 184),
    "delivered": ("=I", 192),
    "bytes_sent": ("=Q", 200),
    "bytes_retrans": ("=Q", 208),
    "dsack_dups": ("=I", 216),
    "reord_seen": ("=I", 220),
}


def say(**facts: Any) -> None:
    """Print one JSON line."""
    with _LOCK:
        print(json.dumps(facts), flush=True)


class Pattern:
    """The bytes of a flow: the same at both ends, for any sizes of reads and writes.

    "text" holds no octet that HDLC framing must escape, "random" does, "zeros" compresses.
    """

    def __init__(self, kind: str, seed: int) -> None:
        rng = random.Random(seed)
        letters = (string.ascii_letters + string.digits + " .").encode()
        block = rng.randbytes(_BLOCK)
        if kind == "text":
            block = bytes(letters[byte & 63] for byte in block)
        elif kind == "zeros":
            block = bytes(_BLOCK)
        self._twice = block + block

    def at(self, offset: int, length: int) -> bytes:
        """`length` bytes (at most one block) from `offset` of the stream on."""
        start = offset % _BLOCK
        return self._twice[start : start + length]


class Sender:
    """Writes the stream to a socket."""

    def __init__(self, sock: socket.socket, flow: Flow) -> None:
        self._sock, self._flow = sock, flow
        self._pattern = Pattern(flow["data"], flow["seed"])
        self.sent = 0

    def send(self, total: int) -> None:
        """Write `total` more bytes in units of the flow's write size."""
        end = self.sent + total
        while self.sent < end:
            unit = self._pattern.at(self.sent, min(self._flow["write_bytes"], end - self.sent, _BLOCK))
            self._sock.sendall(unit)
            self.sent += len(unit)

    def run(self) -> None:
        """Send the whole flow as its kind requires."""
        flow = self._flow
        if flow["kind"] == "paced":
            begin = time.monotonic()
            while self.sent < flow["bytes"]:
                wait = begin + self.sent * 8 / flow["rate_bps"] - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                self.send(min(flow["write_bytes"], flow["bytes"] - self.sent))
        elif flow["kind"] == "bursty":
            while self.sent < flow["bytes"]:
                self.send(min(flow["burst_bytes"], flow["bytes"] - self.sent))
                if self.sent < flow["bytes"]:
                    time.sleep(flow["pause_s"])
        elif flow["kind"] == "request_response":
            for _ in range(flow["requests"]):
                self.send(flow["request_bytes"])
                left = flow["response_bytes"]
                while left:
                    part = self._sock.recv(min(left, _BLOCK))
                    if not part:
                        raise ConnectionError("the peer closed within a response")
                    left -= len(part)
                time.sleep(flow["think_s"])
        else:
            self.send(flow["bytes"])


def client(index: int, flow: Flow) -> None:
    """Connect, send, close the own direction, wait for the peer to close."""
    time.sleep(flow["start_s"])
    begin = connected = time.monotonic()
    sock = _socket(flow)
    sender = Sender(sock, flow)
    error = ""
    counters: dict[str, int] = {}
    try:
        sock.connect((flow["address"], flow["port"]))
        connected = time.monotonic()
        sender.run()
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(_BLOCK):
            pass
        counters = tcp_info(sock)
    except OSError as problem:
        if not (flow["reset_at_close"] and isinstance(problem, ConnectionResetError)):
            error = problem.strerror or str(problem)
    finally:
        sock.close()
    facts = {"sent": sender.sent, "connect_s": connected - begin, "seconds": time.monotonic() - begin}
    say(flow=index, role="client", done=True, error=error, tcp_info=counters, **facts)


def tcp_info(sock: socket.socket) -> dict[str, int]:
    """What the kernel reports of a connection that has sent everything (linux/tcp.h, struct tcp_info).

    Times are microseconds, by the kernel's names; what an older kernel does not know is left out.
    """
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return {}
    return {
        name: struct.unpack_from(code, data, at)[0]
        for name, (code, at) in _TCP_INFO.items()
        if at + struct.calcsize(code) <= len(data)
    }


def server(index: int, flow: Flow, listener: socket.socket) -> None:
    """Accept one connection, read it as the flow requires, close.

    Parameters
    ----------
    index : int
        Of the flow, for its report.
    flow : Flow
        The flow as the scenario has it.
    listener : socket.socket
        A socket that listens; it is closed.
    """
    pattern = Pattern(flow["data"], flow["seed"])
    received, check, expected, error, stalled = 0, 0, 0, "", False
    reported = begin = time.monotonic()
    try:
        sock, _ = listener.accept()
        listener.close()
        begin = time.monotonic()
        with sock:
            responder = Sender(sock, flow)
            while part := sock.recv(min(_BLOCK, flow["read_bytes"])):
                check = zlib.crc32(part, check)
                expected = zlib.crc32(pattern.at(received, len(part)), expected)
                received += len(part)
                if flow["kind"] == "request_response" and received % flow["request_bytes"] == 0:
                    responder.send(flow["response_bytes"])
                if flow["stall_s"] and not stalled and received >= flow["stall_after_bytes"]:
                    stalled = True
                    time.sleep(flow["stall_s"])
                if flow["read_bps"]:
                    time.sleep(max(0.0, begin + received * 8 / flow["read_bps"] - time.monotonic()))
                if time.monotonic() - reported >= _REPORT_S:
                    reported = time.monotonic()
                    say(flow=index, role="server", received=received)
    except OSError as problem:
        error = problem.strerror or str(problem)
    facts = {"received": received, "intact": check == expected, "seconds": time.monotonic() - begin}
    say(flow=index, role="server", done=True, error=error, **facts)


def _socket(flow: Flow) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Forced: beyond net.core.[rw]mem_max, which belong to the whole machine.
    for option, size in ((_SO_SNDBUFFORCE, flow["sndbuf_bytes"]), (_SO_RCVBUFFORCE, flow["rcvbuf_bytes"])):
        if size:
            sock.setsockopt(socket.SOL_SOCKET, option, size)
    # By root even an algorithm that the machine does not allow to everybody.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["congestion_control"].encode())
    if flow["nodelay"]:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if flow["mss_bytes"]:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, flow["mss_bytes"])
    if flow["reset_at_close"] and flow["role"] == "server":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return sock


def main() -> None:
    """Play the flows of the argument: ``[{"role", "kind", "address", "port", ...}, ...]``."""
    threads = []
    for index, flow in json.loads(sys.argv[1]):
        if flow["role"] == "server":
            listener = _socket(flow)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((flow["address"], flow["port"]))
            listener.listen(1)
            threads.append(threading.Thread(target=server, args=(index, flow, listener), daemon=True))
        else:
            threads.append(threading.Thread(target=client, args=(index, flow), daemon=True))
    say(ready=True)
    sys.stdin.readline()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
