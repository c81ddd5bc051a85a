"""One recording from its first to its last moment: everything that was started is stopped again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from multitracer.linux.interrupt import Interrupt
from multitracer.model import toml
from multitracer.model.frozen import frozen
from multitracer.record import host, plan as planning, sampling, tracing
from multitracer.record.capturing import Capturing
from multitracer.record.modem import Asking
from multitracer.record.system import RecordError, words_of

KERNEL_LOG = "kernel.trace"
SOCKETS_LOG = "sockets.ss"
COUNTERS_LOG = "counters.log"
CAPTURES = ("capture.pcap", "capture.pcapng")
SETTINGS = "measurement.toml"
HEADERS = 128
"""Bytes kept of each packet by default: all headers with their options, and little of what users sent."""

_STEP_S = 0.2
_SAMPLE_S = 0.02  # a sample is of so much time after its stamp, or as long as the slowest took
_RESERVE_BYTES = 16 << 20  # left free on the disk


@frozen
class Options:
    """How to record.

    Attributes
    ----------
    output : str
        Directory to make.
    interface : str
        "" for that of the default route.
    filter : str
        Of the capture, in tcpdump's language; ports in it restrict the tracepoints that know ports, too.
    duration_s : float or None
        None: until a signal, or the end of `command`.
    command : sequence of str
        To run while recording; empty: none.
    interval_s : float
        Between two samples.
    snaplen : int
        Bytes kept of each packet; 0: all.
    max_bytes : int
        End when the recording is so large.
    buffer_kib : int
        Kernel buffers: that of the capture, and the trace's per CPU.
    """

    output: str
    interface: str = ""
    filter: str = ""
    duration_s: float | None = None
    command: Sequence[str] = ()
    interval_s: float = 0.1
    snaplen: int = HEADERS
    max_bytes: int = 2 << 30
    buffer_kib: int = 8192


@dataclass
class Progress:
    """Where a recording stands.

    Attributes
    ----------
    seconds : float
    sizes : dict of str to int
        Bytes of each file.
    lost_events : int
        Tracepoints lost to full buffers.
    """

    seconds: float
    sizes: dict[str, int]
    lost_events: int


@dataclass
class Outcome:
    """What was recorded.

    Attributes
    ----------
    path : str
    seconds : float
    ended_by : str
        "time", "command", "signal", "size", "disk" or "failure".
    status : int or None
        Exit status of the command.
    lost_events : int
    capture_drops : int or None
        Packets that the capture lost; None if it does not report them.
    sizes : dict of str to int
    problems : list of str
        What went wrong or is missing, each with what helps.
    """

    path: str
    seconds: float = 0.0
    ended_by: str = ""
    status: int | None = None
    lost_events: int = 0
    capture_drops: int | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As printed by ``--json``."""
        return {
            "path": self.path,
            "seconds": self.seconds,
            "ended_by": self.ended_by,
            "status": self.status,
            "lost_events": self.lost_events,
            "capture_drops": self.capture_drops,
            "sizes": self.sizes,
            "problems": self.problems,
        }


def ports_of(filter: str) -> list[int]:
    """TCP ports that every packet has which passes a capture filter; empty where that is not certain.

    Only what can be judged without a compiler of filters: terms joined by ``and``, one of which is a port.
    """
    terms = re.split(r"\s+and\s+|\s*&&\s*", filter.strip())
    plain = re.compile(r"(tcp|ip|ip6|(src |dst )?host \S+|(src |dst )?net \S+|(tcp )?port \d+)")
    if not all(plain.fullmatch(term) for term in terms):
        return []
    ports = [int(match[1]) for term in terms if (match := re.fullmatch(r"(?:tcp )?port (\d+)", term))]
    return ports[:1]


def record(options: Options, progress: Callable[[Progress], None] | None = None) -> Outcome:
    """Record until the time is over, the command ends, a signal comes or a limit is reached.

    Parameters
    ----------
    options : Options
    progress : callable, optional
        Called with a `Progress` about five times a second.

    Returns
    -------
    Outcome
        Also when a part failed: what could be recorded is there, what not is in `problems`.

    Raises
    ------
    RecordError
        The directory exists, the interface does not, or nothing at all can be recorded.
    """
    interface = options.interface or host.default_interface()
    host.interface_index(interface)
    folder = _make(options.output)
    session = _Session(options, interface, folder)
    try:
        with Interrupt() as signals:
            return session.run(signals, progress)
    except BaseException:
        session.abort()
        raise


def _make(path: str) -> str:
    if os.path.isdir(path) and not os.listdir(path):
        return path
    if os.path.lexists(path):
        raise RecordError(f"{path} exists; choose another name or remove it")
    try:
        os.makedirs(path)
    except OSError as error:
        raise RecordError(f"{path}: {words_of(error)}; choose another place") from error
    return path


class _Session:
    def __init__(self, options: Options, interface: str, folder: str) -> None:
        self._options, self._interface, self._folder = options, interface, folder
        self._outcome = Outcome(folder)
        self._capture: Capturing | None = None
        self._tracing: tracing.Tracing | None = None
        self._samplers: list[sampling.Sampler] = []
        self._asking: Asking | None = None
        self._command: subprocess.Popen[bytes] | None = None
        self._facts: dict[str, Any] = {}
        self._began_ns = 0

    def run(self, signals: Interrupt, progress: Callable[[Progress], None] | None) -> Outcome:
        self._start()
        began = time.monotonic()
        self._outcome.ended_by = self._watch(signals, began, progress)
        self._outcome.seconds = round(time.monotonic() - began, 3)
        self._finish()
        return self._outcome

    def _start(self) -> None:
        plan = planning.make(self._interface, ports_of(self._options.filter), mount=True)
        try:
            self._facts = host.facts(self._interface)
            self._begin(plan)
            self._began_ns = time.time_ns()
            self._write_settings()
            if self._options.command:
                self._command = subprocess.Popen(list(self._options.command))
        except OSError as error:
            self.abort()
            self._leave_nothing()
            raise RecordError(f"{error.filename or self._options.output}: {words_of(error)}") from error
        except RecordError:
            self.abort()
            self._leave_nothing()
            raise

    def _leave_nothing(self) -> None:
        """Remove the files of a recording that did not begin, so that its name is free again."""
        for name in (KERNEL_LOG, SOCKETS_LOG, COUNTERS_LOG, SETTINGS, *CAPTURES):
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, name))
        with suppress(OSError):
            os.rmdir(self._folder)

    def _begin(self, plan: planning.Plan) -> None:
        options, problems = self._options, self._outcome.problems
        problems += [f"no {one.source} ({one.layer}): {one.remedy}" for one in _worth_saying(plan)]
        names = tracing.remove_leftovers(plan.tracefs) if plan.tracefs.root else []
        problems += [f"removed {name}, left by a recording that was killed" for name in names]
        if any(choice.there for choice in plan.choices):
            path = os.path.join(self._folder, KERNEL_LOG)
            self._tracing = tracing.Tracing(plan.tracefs, path, plan.choices, options.buffer_kib)
            problems += [f"the kernel refused {what}" for what in self._tracing.refused]
        if plan.has("capture"):
            system = self._facts["host"]
            comment = f"host {system['name']}, kernel {system['kernel']}"
            # tcpdump's buffer holds fixed slots of the snap length.
            self._capture = Capturing(
                self._folder, self._interface, options.filter, options.snaplen, options.buffer_kib, comment
            )
        if plan.modem is not None:
            self._asking = Asking(plan.modem)
            if not plan.modem.polled_s:
                problems.append(f"the modem's signals are not polled: {planning.polling(plan.modem)}")
        takes = [(COUNTERS_LOG, sampling.counters(self._interface, self._asking))]
        if plan.has("sockets"):
            takes.append((SOCKETS_LOG, sampling.sockets))
        for name, take in takes:
            sampler = sampling.Sampler(os.path.join(self._folder, name), options.interval_s, take)
            sampler.start()
            self._samplers.append(sampler)

    def _watch(self, signals: Interrupt, began: float, progress: Callable[[Progress], None] | None) -> str:
        options = self._options
        while True:
            seconds = time.monotonic() - began
            left = _STEP_S if options.duration_s is None else min(_STEP_S, options.duration_s - seconds)
            signals.wait(left)
            if signals.requested:
                return "signal"
            ended = self._command is not None and self._command.poll() is not None
            seconds = time.monotonic() - began
            sizes = self._sizes()
            # First what went wrong: the command may have ended in the same step, or because of it.
            if trouble := self._trouble(sizes):
                return trouble
            if ended:
                return "command"
            if options.duration_s is not None and seconds >= options.duration_s:
                return "time"
            if progress is not None:
                lost = self._tracing.lost() if self._tracing is not None else 0
                progress(Progress(seconds, sizes, lost))

    def _trouble(self, sizes: Mapping[str, int]) -> str:
        """Why the recording cannot continue, as in `Outcome.ended_by`; "" if it can."""
        if sum(sizes.values()) >= self._options.max_bytes:
            self._outcome.problems.append(
                f"ended at {self._options.max_bytes:,} bytes (--max-size); record shorter, or filter"
            )
            return "size"
        if shutil.disk_usage(self._folder).free < _reserve(self._folder):
            self._outcome.problems.append("ended because the disk is nearly full")
            return "disk"
        return "" if self._alive() else "failure"

    def _alive(self) -> bool:
        if self._tracing is not None and not self._tracing.reading:
            self._outcome.problems.append("taking out tracepoints ended by itself: is the disk full?")
            return False
        if any(sampler.failed for sampler in self._samplers):
            why = next(sampler.failed for sampler in self._samplers if sampler.failed)
            self._outcome.problems.append(f"samples cannot be taken: {why}")
            return False
        return self._capture is None or self._capture.running

    def _sizes(self) -> dict[str, int]:
        sizes = {}
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    sizes[entry.name] = entry.stat().st_size
        return sizes

    def _finish(self) -> None:
        outcome = self._outcome
        if self._command is not None and self._command.poll() is None:
            self._command.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._command.wait(3)
        if self._command is not None:
            outcome.status = self._command.poll()
        if self._capture is not None:
            why = self._capture.finish()
            outcome.capture_drops = self._capture.dropped
            if why:
                outcome.problems.append(why)
            if outcome.capture_drops:
                outcome.problems.append(
                    f"the capture dropped {outcome.capture_drops:,} packets; raise --buffer, or filter"
                )
        self._end_samples()
        if self._tracing is not None:
            outcome.lost_events = self._tracing.finish()
            self._tracing.close()
            if outcome.lost_events:
                outcome.problems.append(
                    f"{outcome.lost_events:,} events of the kernel were lost; raise --buffer, or filter"
                )
        try:
            self._write_settings()
        except OSError as error:
            outcome.problems.append(f"{SETTINGS} as it was at the start: {words_of(error)}")
        outcome.sizes = self._sizes()
        if not any(name in outcome.sizes for name in (KERNEL_LOG, SOCKETS_LOG)) and self._capture is None:
            outcome.problems.append("neither packets nor TCP's states could be recorded: run as root")

    def _write_settings(self) -> None:
        """``measurement.toml``, at the start, so that a recording that is killed reads, and at the end."""
        offset_ns, error_ns = host.clock_offset_ns()
        sources: dict[str, Any] = {}
        if self._tracing is not None:
            # The trace is written in microseconds.
            sources[KERNEL_LOG] = {
                "clock_offset_s": offset_ns / 1e9,
                "clock_uncertainty_s": (error_ns + 1000) / 1e9,
            }
        # One clock, but ss and tc take their time after the stamp: on a busy host, longer.
        longest_s = {one.name: one.longest_s for one in self._samplers}
        for name in (COUNTERS_LOG, SOCKETS_LOG):
            bound_s = round(max(_SAMPLE_S, longest_s.get(name, 0.0)), 3)
            sources[name] = {"clock_offset_s": 0.0, "clock_uncertainty_s": bound_s}
        data: Mapping[str, Any] = {
            "record": {
                "started_unix_s": self._began_ns / 1e9,
                "seconds": self._outcome.seconds or None,
                "ended_by": self._outcome.ended_by or None,
                "lost_events": self._outcome.lost_events if self._outcome.ended_by else None,
                "capture_drops": self._outcome.capture_drops,
                "filter": self._options.filter,
                "snaplen": self._options.snaplen,
                "interval_s": self._options.interval_s,
                "command": list(self._options.command) or None,
                "tracepoints": self._tracing.enabled if self._tracing is not None else [],
                "clock": "monotonic, to real time by clock_offset_s",
                "problems": self._outcome.problems,
            },
            **self._facts,
            "capture": self._observed(),
            "sources": sources,
        }
        path = os.path.join(self._folder, SETTINGS)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(toml.document(data))
        os.replace(f"{path}.new", path)

    def _observed(self) -> dict[str, Any] | None:
        """Where the capture was taken: at this host, whose end of a connection has one of the addresses.

        Which end sends the data is not known before it is analysed, and may differ between connections.
        """
        if self._capture is None:
            return None
        interface = self._facts["interface"]
        return {
            "file": self._capture.name,
            "observation_point": "this host",
            "interface": interface["name"],
            "addresses": interface["addresses"],
        }

    def abort(self) -> None:
        """Stop whatever runs; files stay."""
        if self._command is not None and self._command.poll() is None:
            self._command.terminate()
        if self._capture is not None:
            self._capture.abort()
        self._end_samples()
        if self._tracing is not None:
            self._tracing.close()

    def _end_samples(self) -> None:
        for sampler in self._samplers:
            sampler.finish()
        if self._asking is not None:
            self._asking.close()


def _reserve(folder: str) -> int:
    """Bytes to leave free: a small disk may not have so many to begin with."""
    return min(_RESERVE_BYTES, shutil.disk_usage(folder).total // 20)


def _worth_saying(plan: planning.Plan) -> list[planning.Source]:
    """What is missing, each remedy once; a link that is none is no loss."""
    said: dict[str, planning.Source] = {}
    for one in plan.missing:
        if one.source != planning.NO_LINK:
            said.setdefault(one.remedy, one)
    return list(said.values())
