"""Both ends of a transfer, run inside network namespaces: ``transfer.py serve|send JSON``.

The sender waits until everything is acknowledged and prints what its sockets say of themselves (tcp_info).
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import sys
import threading
import time

_SIOCOUTQ = 0x5411
_INFO = {"busy_us": 168, "rwnd_limited_us": 176, "sndbuf_limited_us": 184}


def serve(wanted: dict) -> None:
    """Take as many connections as there are flows; read, perhaps slowly, to the end."""

    def take(peer: socket.socket) -> None:
        with peer:
            while peer.recv(wanted["read_bytes"]):
                time.sleep(wanted["read_pause_s"])

    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if wanted["receive_buffer"]:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, wanted["receive_buffer"])
        server.bind(("0.0.0.0", wanted["port"]))
        server.listen()
        print("ready", flush=True)
        threads = []
        for _ in range(wanted["flows"]):
            peer, _ = server.accept()
            threads.append(threading.Thread(target=take, args=(peer,)))
            threads[-1].start()
        for thread in threads:
            thread.join()


def send(wanted: dict) -> None:
    """Write to each connection, wait for the last ACK, print tcp_info."""
    infos: list[dict] = []

    def flow(total: int) -> None:
        with socket.socket() as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted["congestion_control"].encode())
            peer.connect((wanted["address"], wanted["port"]))
            while total > 0:
                peer.sendall(bytes(min(wanted["write_bytes"], total)))
                total -= wanted["write_bytes"]
                if wanted["write_pause_s"]:
                    time.sleep(wanted["write_pause_s"])
            while struct.unpack("i", fcntl.ioctl(peer, _SIOCOUTQ, b"\0" * 4))[0]:
                time.sleep(0.002)
            raw = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            info = {name: struct.unpack_from("=Q", raw, at)[0] for name, at in _INFO.items()}
            infos.append({**info, "port": peer.getsockname()[1]})
            time.sleep(0.3)  # for one more sample of the socket

    threads = [threading.Thread(target=flow, args=(wanted["bytes"],)) for _ in range(wanted["flows"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(wanted["result"], "w", encoding="ascii") as file:
        json.dump(infos, file)


if __name__ == "__main__":
    {"serve": serve, "send": send}[sys.argv[1]](json.loads(sys.argv[2]))
