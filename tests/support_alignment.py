"""Traces of the samples on clocks that are wrong in a known way."""

from __future__ import annotations

import copy
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dpkt
import numpy as np
from support_samples import SAMPLES

from multitracer.alignment.clocks import Int
from multitracer.api.measurement import Measurement
from multitracer.model.trace import Trace
from multitracer.reading.opening import open_trace

S = 1_000_000_000
MS = 1_000_000
HOUR = 3600 * S
FILES = ("snd.pcap", "rcv.pcap", "rlp.log.gz", "tcp_probe.txt.gz", "ss.log.gz")


@dataclass(frozen=True)
class Wrong:
    """A clock: offset and step in ns, skew in ns per ns; the step comes at a share of the trace."""

    offset: int = 0
    skew: float = 0.0
    step: int = 0
    at: float = 0.5


def traces(sample: str, files: Sequence[str] = FILES) -> list[Trace]:
    return [open_trace(SAMPLES / sample / name) for name in files]


def warped(trace: Trace, wrong: Wrong) -> Trace:
    """The trace as a clock that is wrong would have written it."""
    tables = [table for table in trace.tables.values() if len(table)]
    first = min(int(table["t_ns"].min()) for table in tables)
    last = max(int(table["t_ns"].max()) for table in tables)
    cut = first + round(wrong.at * (last - first))

    def read(t: Int) -> Int:
        drift: Int = np.rint(wrong.skew * (t - first)).astype(np.int64)
        return t + drift + np.where(t >= cut, wrong.offset + wrong.step, wrong.offset)

    source = copy.copy(trace.source)
    source.details = dict(source.details)
    source.first_ns, source.last_ns = (int(read(np.array([t]))[0]) for t in (first, last))
    changed = {name: table.replace(t_ns=read(table["t_ns"])) for name, table in trace.tables.items()}
    return Trace(source, changed, list(trace.issues), trace.flows, trace.entities, trace.connections)


def errors(measurement: Measurement, source: int, original: Trace, true_offset: int = 0) -> Int:
    """How far each row of a source is from where it belongs, in ns."""
    found = []
    for name, table in original.tables.items():
        mine = measurement.table(name)
        mine = mine.where(mine["source"] == source)
        assert len(mine) == len(table)
        by_record = np.argsort(mine["record"], kind="stable")
        theirs = np.argsort(table["record"], kind="stable")
        found.append(np.abs(mine["t_ns"][by_record] - table["t_ns"][theirs] - true_offset))
    return np.concatenate(found)


def bounds(measurement: Measurement, source: int, original: Trace) -> Int:
    """What is stated for each of the rows that `errors` gives, in ns."""
    clock, found = measurement.clocks[source], []
    for table in original.tables.values():
        found += [clock.uncertainty_at(record) for record in np.sort(table["record"], kind="stable").tolist()]
    return np.array(found, dtype=np.int64)


def rewrite(
    source: Path, target: Path, change: Callable[[list[tuple[float, bytes]]], list[tuple[float, bytes]]]
) -> Path:
    """A capture with its packets changed."""
    with source.open("rb") as handle:
        reader = dpkt.pcap.Reader(handle)
        packets, link = [(float(t), bytes(data)) for t, data in reader], reader.datalink()
    with target.open("wb") as handle:
        writer = dpkt.pcap.Writer(handle, linktype=link)
        for t, data in change(packets):
            writer.writepkt(data, ts=t)
    return target


def log_of(sample: str, entity: str, target: Path) -> Path:
    """One entity's lines of a sample's link log, in a file of its own."""
    with gzip.open(SAMPLES / sample / "rlp.log.gz", "rt") as handle:
        lines = [line for line in handle if line.startswith("#") or line.split()[1] == entity]
    target.write_text("".join(lines))
    return target
