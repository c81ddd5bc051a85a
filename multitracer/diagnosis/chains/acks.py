"""The return path: ACKs that arrived compressed (ACK compression: Zhang, Shenker and Clark, SIGCOMM 1991)."""

from __future__ import annotations

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.layers.tcp.flow_batch import Flags, Times, batches, flows, valid_acks
from multitracer.layers.tcp.losses import arrivals_ns
from multitracer.layers.tcp.transit import data_at
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.quantities import count
from multitracer.model.table import Table
from multitracer.model.timeline import Connection

_RUN = 4

_NOISE_NS = 1_000_000
"""Hosts delay ACKs by less than this without any queue: batched interrupts, a process that wakes up."""


def ack_chains(evidence: Evidence) -> list[Chain]:
    """Runs of compressed ACKs.

    Compressed: ACKs that left the receiver one by one arrive closer than half of that spacing, four and more
    in a row, after being delayed for longer than the min RTT, and than hosts delay ACKs. The sender
    answers with a burst.
    """
    m = evidence.m
    if m.snd is None or m.rcv is None:
        return []
    found = []
    for some in batches(m):
        sent = flows(m, some, m.rcv, reverse=True)
        sent = sent.where((sent["length"] == 0) & (sent["ack"] > 0))
        arrived = arrivals_ns(sent, valid_acks(m, some, m.snd))
        sent, arrived = sent.where(arrived >= 0), arrived[arrived >= 0]
        apart, closer = np.diff(sent["t_ns"]), np.diff(arrived)
        tight = (2 * closer < apart) & (closer >= 0) & (np.diff(sent.of) == 0)
        # A run of so many is as many pairs less one.
        long = tight.copy()
        for step in range(1, _RUN - 1):
            long[step:] &= tight[:-step]
            long[:step] = False
        bounds = sent.bounds.tolist()
        for at in sorted_unique(sent.of[1:][long]).tolist():
            mine, pairs = slice(*bounds[at : at + 2]), slice(bounds[at], bounds[at + 1] - 1)
            found += _runs(evidence, some[at], sent.one(at), arrived[mine], tight[pairs])
    return sorted(found, key=lambda one: -one.silence_ns)[:MOST_EVENTS]


def _runs(
    evidence: Evidence,
    connection: Connection,
    acks: Table,
    arrived: Times,
    tight: Flags,
) -> list[Chain]:
    edges = np.diff(tight.astype(np.int8), prepend=np.int8(0), append=np.int8(0))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    data = data_at(evidence.m, connection, evidence.m.snd)
    trips = data_at(evidence.m, connection, evidence.m.snd, reverse=True)["rtt_ns"]
    trips = trips[trips > 0]
    usual = int((arrived - acks["t_ns"]).min())
    held_ns = usual + max(int(trips.min()) if len(trips) else 0, _NOISE_NS)
    chains = []
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        if high - low + 1 < _RUN:
            continue
        left = int(acks["t_ns"][high] - acks["t_ns"][low])
        came = int(arrived[high] - arrived[low])
        delay = int((arrived[low : high + 1] - acks["t_ns"][low : high + 1]).max())
        if delay < max(held_ns, 1):
            continue
        chain = Chain("ack_path", int(acks["t_ns"][low]), connection.index, silence_ns=delay)
        first = chain.add(
            Event(
                "acks_compressed",
                int(arrived[low]),
                f"{high - low + 1} ACKs sent over {left / 1e9:.2f} s arrived within {came / 1e9:.3f} s",
                end_ns=int(arrived[high]),
                source=evidence.m.rcv if evidence.m.rcv is not None else -1,
                record=int(acks["record"][low]),
                conn=connection.index,
                seq=int(acks["ack"][low]),
                length=int(acks["ack"][high] - acks["ack"][low]),
                number=high - low + 1,
            )
        )
        burst = data.where((data["t_ns"] >= arrived[low]) & (data["t_ns"] <= arrived[high] + 10_000_000))
        burst = burst.where(burst["length"] > 0)
        if len(burst):
            chain.add(
                Event(
                    "burst_sent",
                    int(burst["t_ns"][0]),
                    f"{count(len(burst), 'segment')} sent in a burst, clocked by these ACKs",
                    first,
                    end_ns=int(burst["t_ns"][-1]),
                    source=int(burst["source"][0]),
                    record=int(burst["record"][0]),
                    conn=connection.index,
                    seq=int(burst["seq"][0]),
                    length=int(burst["length"].sum()),
                    number=len(burst),
                )
            )
        chains.append(chain)
    return chains
