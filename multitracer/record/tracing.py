"""The kernel's tracepoints of this host: one trace instance with buffers, clock and filters of its own.

No other tracing is disturbed. The instance goes at the end, also when the recorder is killed: a guardian
process waits for the end of its standard input, and the next recording removes what has no living owner.

Reference: Documentation/trace/ftrace.rst ("Instances", "trace_pipe") and events.rst ("Event filtering").
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from multitracer.model.frozen import frozen
from multitracer.record.system import Process, RecordError, mount, spawn, stop, unmount, words_of

TRACEFS = "/sys/kernel/tracing"
_PLACES = (TRACEFS, "/sys/kernel/debug/tracing")
_PREFIX = "multitracer-"
_MOST_OF_A_NAME = 20

_GUARDIAN = """
cat >/dev/null
n=0
while [ -d "$1" ] && [ $n -lt 50 ]; do
    { echo 0 >"$1/tracing_on"; rmdir "$1"; } 2>/dev/null || sleep 0.2
    n=$((n + 1))
done
"""


class Wanted(NamedTuple):
    """A tracepoint, its layer, and the kernel's filter with the interface as ``{name}`` and ``{index}``."""

    event: str
    layer: str
    filter: str = ""


WANTED = (
    Wanted("sock/sock_send_length", "application", "protocol == 6"),
    Wanted("sock/sock_recv_length", "application", "protocol == 6"),
    Wanted("tcp/tcp_sendmsg_locked", "application"),
    Wanted("sock/inet_sock_set_state", "tcp", "protocol == 6"),
    Wanted("tcp/tcp_probe", "tcp"),
    Wanted("tcp/tcp_retransmit_skb", "tcp"),
    Wanted("tcp/tcp_retransmit_synack", "tcp"),
    Wanted("tcp/tcp_cong_state_set", "tcp"),
    Wanted("tcp/tcp_rcvbuf_grow", "tcp"),
    Wanted("tcp/tcp_send_reset", "tcp"),
    Wanted("tcp/tcp_receive_reset", "tcp"),
    Wanted("tcp/tcp_bad_csum", "tcp"),
    Wanted("qdisc/qdisc_enqueue", "qdisc", "ifindex == {index}"),
    # An empty qdisc returns no packet: twice as many events without information.
    Wanted("qdisc/qdisc_dequeue", "qdisc", "ifindex == {index} && packets > 0"),
    Wanted("net/net_dev_queue", "device", 'name == "{name}"'),
    Wanted("net/net_dev_start_xmit", "device", 'name == "{name}"'),
    # Only what the driver did not take: 0 is NETDEV_TX_OK.
    Wanted("net/net_dev_xmit", "device", 'name == "{name}" && rc != 0'),
    Wanted("net/netif_receive_skb", "device", 'name == "{name}"'),
    # IPv4 and IPv6.
    Wanted("skb/kfree_skb", "drops", "protocol == 0x0800 || protocol == 0x86dd"),
)
"""What is switched on where the kernel has it."""


class Choice(NamedTuple):
    """One tracepoint as it is to be switched on."""

    event: str
    layer: str
    filter: str
    there: bool


@frozen
class Tracefs:
    """The trace file system.

    Attributes
    ----------
    root : str
        Where it is mounted; "" if it cannot be reached.
    why : str
        Why not, and what helps.
    ours : bool
        Mounted by `reach`.
    """

    root: str
    why: str = ""
    ours: bool = False


def reach(may_mount: bool) -> Tracefs:
    """The trace file system; mounted at its usual place if it is not and `may_mount` allows it."""
    for place in _PLACES:
        try:
            os.listdir(f"{place}/instances")
            if os.access(f"{place}/instances", os.W_OK):
                return Tracefs(place)
            return Tracefs("", f"{place} is not writable; run as root (sudo)")
        except PermissionError:
            return Tracefs("", f"{place} is not readable; run as root (sudo)")
        except OSError:
            continue
    if os.geteuid() != 0:
        return Tracefs("", f"tracing is for root; run with sudo (or mount tracefs at {TRACEFS} and allow it)")
    with open("/proc/filesystems", encoding="ascii") as file:
        if "\ttracefs\n" not in file.read():
            return Tracefs("", "this kernel has no tracefs (CONFIG_FTRACE)")
    if not may_mount:
        return Tracefs(TRACEFS, f"tracefs is not mounted at {TRACEFS}")
    try:
        mount("tracefs", TRACEFS)
    except OSError as error:
        return Tracefs("", f"tracefs cannot be mounted ({words_of(error)}); a container needs --privileged")
    return Tracefs(TRACEFS, ours=True)


def choices(tracefs: Tracefs, interface: str, index: int, ports: Sequence[int] = ()) -> list[Choice]:
    """The tracepoints for one interface, and which of them the running kernel has.

    Parameters
    ----------
    tracefs : Tracefs
    interface : str
        Its name.
    index : int
        Its number.
    ports : sequence of int
        TCP ports to which events are filtered; none: all.

    Returns
    -------
    list of Choice
        One for each tracepoint, in the order in which they are asked for.
    """
    return [
        Choice(
            wanted.event,
            wanted.layer,
            _filter(tracefs, wanted, interface, index, ports),
            os.path.isdir(f"{tracefs.root}/events/{wanted.event}"),
        )
        for wanted in WANTED
    ]


def _filter(tracefs: Tracefs, wanted: Wanted, interface: str, index: int, ports: Sequence[int]) -> str:
    rule = wanted.filter.format(name=interface, index=index)
    if ports and {"sport", "dport"} <= _fields(f"{tracefs.root}/events/{wanted.event}"):
        either = " || ".join(f"sport == {port} || dport == {port}" for port in ports)
        rule = f"({rule}) && ({either})" if rule else either
    return rule


def _fields(folder: str) -> set[str]:
    try:
        with open(f"{folder}/format", encoding="ascii", errors="replace") as file:
            lines = [line for line in file if line.startswith("\tfield:")]
    except OSError:
        return set()
    return {line.split(";")[0].split()[-1].split("[")[0] for line in lines}


def remove_leftovers(tracefs: Tracefs) -> list[str]:
    """Remove instances of recordings that are no longer there; their names."""
    removed = []
    folder = f"{tracefs.root}/instances"
    try:
        names = [name for name in os.listdir(folder) if name.startswith(_PREFIX)]
    except OSError:
        return []
    for name in names:
        path = f"{folder}/{name}"
        owner = _lock(path)
        if owner is None:
            continue  # a process records into it, perhaps in another container
        os.close(owner)
        if _remove(path):
            removed.append(name)
    return removed


def _lock(path: str) -> int | None:
    """A descriptor that owns an instance as long as it is open; None if another has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(path: str) -> bool:
    for _ in range(25):
        with suppress(OSError), open(f"{path}/tracing_on", "w", encoding="ascii") as file:
            file.write("0")
        try:
            os.rmdir(path)
            return True
        except FileNotFoundError:
            return True
        except OSError:
            time.sleep(0.1)  # a reader has not ended yet
    return False


class Tracing:
    """A trace instance whose events are streamed into a text file.

    Parameters
    ----------
    tracefs : Tracefs
    path : str
        File to write.
    wanted : sequence of Choice
        Those that are there are switched on, one that the kernel refuses is listed in `refused`.
    buffer_kib : int
        Ring buffer per CPU: it bridges the moments until the text is taken out.

    Raises
    ------
    RecordError
        No instance can be made.
    """

    def __init__(self, tracefs: Tracefs, path: str, wanted: Sequence[Choice], buffer_kib: int) -> None:
        self._tracefs = tracefs
        self._path = path
        self.instance = ""
        self.refused: list[str] = []
        self.enabled: list[str] = []
        self._guardian: Process | None = None
        self._reader: Process | None = None
        self._owner: int | None = None
        self._make()
        try:
            self._set_up(wanted, buffer_kib)
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        """Make the instance: named by the process, whose number another container's may have, too."""
        for again in range(_MOST_OF_A_NAME):
            name = f"{_PREFIX}{os.getpid()}" + (f"-{again}" if again else "")
            self.instance = f"{self._tracefs.root}/instances/{name}"
            try:
                os.mkdir(self.instance)
                return
            except FileExistsError:
                continue
            except OSError as error:
                raise RecordError(f"no trace instance can be made: {words_of(error)}") from error
        raise RecordError(f"no trace instance can be made: {_MOST_OF_A_NAME} have the name {self.instance}")

    def _set_up(self, wanted: Sequence[Choice], buffer_kib: int) -> None:
        self._owner = _lock(self.instance)
        argv = ["sh", "-c", _GUARDIAN, "sh", self.instance]
        self._guardian = spawn(argv, stdin=subprocess.PIPE, outlives=True)
        self._write("tracing_on", "0")
        self._write("buffer_size_kb", str(buffer_kib))
        if not self._write("trace_clock", "mono"):
            raise RecordError("this kernel has no trace clock mono (it came with Linux 3.17)")
        for choice in wanted:
            if not choice.there:
                continue
            folder = f"events/{choice.event}"
            if choice.filter and not self._write(f"{folder}/filter", choice.filter):
                self.refused.append(f"{choice.event}: filter {choice.filter}")
            if self._write(f"{folder}/enable", "1"):
                self.enabled.append(choice.event)
            else:
                self.refused.append(choice.event)
        with open(self._path, "wb") as out:
            out.write(b"# tracer: nop\n#\n")
            out.flush()
            self._reader = spawn(["cat", f"{self.instance}/trace_pipe"], stdout=out)
        self._write("tracing_on", "1")

    @property
    def reading(self) -> bool:
        """Whether events are still taken out (a full disk ends that)."""
        return self._reader is not None and self._reader.poll() is None

    def lost(self) -> int:
        """Events lost so far to full ring buffers."""
        return self._statistics("overrun") + self._statistics("dropped events")

    def finish(self) -> int:
        """Stop tracing and take out the rest; the number of events that were lost."""
        self._write("tracing_on", "0")
        deadline = time.monotonic() + 5.0
        waiting = 0
        while self.reading and (waiting := self._statistics("entries")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.05)  # the reader has the last page and is writing it
        if not self.reading:
            waiting = self._statistics("entries")
        lost = self.lost() + waiting
        self._stop_reader()
        return lost

    def close(self) -> None:
        """Remove the instance, and the mount if it was made for it."""
        self._stop_reader()
        if os.path.isdir(self.instance):
            _remove(self.instance)
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None
        if self._guardian is not None and self._guardian.stdin is not None:
            self._guardian.stdin.close()
            try:
                self._guardian.wait(12)
            except subprocess.TimeoutExpired:
                stop(self._guardian)
            self._guardian = None
        if self._tracefs.ours:
            unmount(self._tracefs.root)

    def _stop_reader(self) -> None:
        if self._reader is not None:
            stop(self._reader)
            self._reader = None

    def _write(self, file: str, value: str) -> bool:
        try:
            with open(f"{self.instance}/{file}", "w", encoding="ascii") as out:
                out.write(value)
        except OSError:
            return False
        return True

    def _statistics(self, name: str) -> int:
        total = 0
        root = f"{self.instance}/per_cpu"
        try:
            for cpu in os.listdir(root):
                with open(f"{root}/{cpu}/stats", encoding="ascii") as file:
                    for line in file:
                        key, _, value = line.partition(":")
                        if key == name:
                            total += int(value)
        except (OSError, ValueError):
            return total
        return total
