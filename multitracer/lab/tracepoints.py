"""The kernel's TCP tracepoints of one run, in a trace instance of its own.

An instance has its own buffer, clock, filters and switches, so that no other run or tracing is disturbed.
tracefs is reached through a private mount without a mount point.

Reference: Documentation/trace/ftrace.rst ("Instances", "trace_pipe") of the kernel.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Sequence

from multitracer.lab.children import Process, spawn, stop
from multitracer.lab.kernel import detached_mount
from multitracer.lab.requirements import LabError

WANTED = (
    "tcp/tcp_probe",
    "tcp/tcp_retransmit_skb",
    "tcp/tcp_retransmit_synack",
    "tcp/tcp_cong_state_set",
    "tcp/tcp_send_reset",
    "tcp/tcp_receive_reset",
    "sock/inet_sock_set_state",
)
"""Events switched on by default where the kernel has them; the first is indispensable."""

# Waits for the end of its input, which comes when the run ends in any way, then removes the instance.
_GUARDIAN = """
cat >/dev/null
n=0
while [ -d "$1" ] && [ $n -lt 25 ]; do
    { echo 0 >"$1/tracing_on"; rmdir "$1"; } 2>/dev/null || sleep 0.2
    n=$((n + 1))
done
"""


class Tracepoints:
    """A trace instance that streams the events of the run's ports into a file.

    Parameters
    ----------
    name : str
        Of the instance, unique on the machine.
    path : str
        Text file to write.
    ports : range
        Server ports of the run.
    events : sequence of str
        "group/event"; empty: those of `WANTED` that the kernel has.
    clock : str
        One of the kernel's trace clocks: "local" (its default), "mono", "boot", ...
    buffer_kib : int
        Ring buffer per CPU; it only has to bridge the moments until the text is taken out.

    Raises
    ------
    LabError
        No tracefs, or an event or clock that the kernel does not have.
    """

    def __init__(
        self, name: str, path: str, ports: range, events: Sequence[str], clock: str, buffer_kib: int
    ) -> None:
        self._path = path
        self._mount = _tracefs()
        self._instance = f"/proc/self/fd/{self._mount}/instances/{name}"
        self._guardian: Process | None = None
        self._reader: Process | None = None
        self._owner: int | None = None
        self.overrun = 0
        try:
            self._set_up(ports, events, clock, buffer_kib)
        except BaseException:
            self.close()
            raise

    def _set_up(self, ports: range, events: Sequence[str], clock: str, buffer_kib: int) -> None:
        try:
            os.mkdir(self._instance)
        except OSError as error:
            raise LabError(
                f"no trace instance: {error.strerror}; run with --set trace.events=false"
            ) from error
        # `multitracer record` removes instances of this name that no process holds.
        self._owner = os.open(self._instance, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        self._guardian = spawn(
            ["sh", "-c", _GUARDIAN, "sh", self._instance],
            stdin=subprocess.PIPE,
            pass_fds=[self._mount],
            on_parent_death=None,
        )
        self._write("buffer_size_kb", str(buffer_kib), "buffer size")
        self._write("trace_clock", clock, "clock")
        chosen = list(events) or [event for event in WANTED if self._has(event)]
        if not events and WANTED[0] not in chosen:
            raise LabError("this kernel has no tcp_probe tracepoint; run with --set trace.events=false")
        low, high = ports.start, ports.stop - 1
        # Without the listening sockets (dport 0): they are no connections.
        rule = f"(sport >= {low} && sport <= {high} && dport != 0) || (dport >= {low} && dport <= {high})"
        for event in chosen:
            if not self._has(event):
                raise LabError(f"this kernel has no tracepoint {event}")
            if self._field(event, "sport") and self._field(event, "dport"):
                self._write(f"events/{event}/filter", rule, f"filter of {event}")
            self._write(f"events/{event}/enable", "1", event)
        with open(self._path, "wb") as out:
            with open(f"{self._instance}/trace", "rb") as header:
                out.writelines(line for line in header if line.startswith(b"#"))
            out.flush()
            self._reader = spawn(["cat", f"{self._instance}/trace_pipe"], stdout=out, pass_fds=[self._mount])

    def finish(self, addresses: Sequence[str]) -> None:
        """Stop tracing, take out the rest, and keep only lines that name one of the run's addresses."""
        self._write("tracing_on", "0", "switch")
        deadline = time.monotonic() + 5.0
        while (waiting := self._statistics("entries")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.05)  # the reader has the last page and is writing it
        self.overrun = self._statistics("overrun") + self._statistics("dropped events") + waiting
        self._stop_reader()
        names = [address.encode() for address in addresses]
        with open(self._path, "rb") as file:
            kept = [
                line
                for line in file
                if line.startswith((b"#", b"CPU:")) or any(name in line for name in names)
            ]
        with open(self._path, "wb") as file:
            file.writelines(kept)

    def close(self) -> None:
        """Remove the instance."""
        self._stop_reader()
        try:
            if os.path.isdir(self._instance):
                for _ in range(25):
                    try:
                        os.rmdir(self._instance)
                        break
                    except OSError:
                        time.sleep(0.1)
        finally:
            if self._guardian is not None and self._guardian.stdin is not None:
                self._guardian.stdin.close()
                try:
                    self._guardian.wait(8)
                except subprocess.TimeoutExpired:
                    stop(self._guardian)
            if self._owner is not None:
                os.close(self._owner)
                self._owner = None
            os.close(self._mount)

    def _stop_reader(self) -> None:
        if self._reader is not None:
            stop(self._reader)
            self._reader = None

    def _has(self, event: str) -> bool:
        return os.path.exists(f"{self._instance}/events/{event}/enable")

    def _field(self, event: str, name: str) -> bool:
        with open(f"{self._instance}/events/{event}/format", encoding="ascii", errors="replace") as file:
            return f" {name};" in file.read()

    def _write(self, file: str, value: str, what: str) -> None:
        try:
            with open(f"{self._instance}/{file}", "w", encoding="ascii") as out:
                out.write(value)
        except OSError as error:
            raise LabError(f"tracing: {what} {value!r} was refused: {error.strerror}") from error

    def _statistics(self, name: str) -> int:
        total = 0
        root = f"{self._instance}/per_cpu"
        for cpu in os.listdir(root):
            with open(f"{root}/{cpu}/stats", encoding="ascii") as file:
                for line in file:
                    key, _, value = line.partition(":")
                    if key == name:
                        total += int(value)
        return total


def _tracefs() -> int:
    """A descriptor of tracefs' root directory."""
    try:
        return detached_mount("tracefs")
    except OSError as error:
        for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
            if os.path.isdir(f"{path}/instances"):
                return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        raise LabError(
            f"no tracefs ({error.strerror}): mount -t tracefs tracefs /sys/kernel/tracing, "
            "or run with --set trace.events=false"
        ) from error
