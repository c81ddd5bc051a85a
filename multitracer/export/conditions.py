"""What a measurement shows of its link and its transfer, as settings of a lab scenario."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link import airtime
from multitracer.layers.link.path import LinkPath, setting
from multitracer.model.timeline import Timeline

RLP_WINDOW = 61  # the most frames in flight that sequence numbers of 6 bits allow
_LATE = 0.25  # of a slot
_HEADERS = 40  # IPv4 and TCP without options: what the MSS leaves out of the MTU
_DIRECTIONS = ("forward", "reverse")

Values = dict[str, float | str | bool]


def tables(measurement: Timeline, link: LinkPath) -> Iterator[str]:
    """Lines of the scenario's tables `tcp`, `network`, `flow` and, last and still open, `link`."""
    for name, values in (*_transfer(measurement).items(), ("[link]", _link(measurement, link))):
        yield f"\n{name}\n"
        for key, value in values.items():
            yield f"{key} = {_toml(value)}\n"


def _toml(value: float | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:.12g}"


def _transfer(measurement: Timeline) -> dict[str, Values]:
    """Options, segment size and bytes of the connection that carried most data."""
    if measurement.snd is None:
        return {}
    found = [c for c in measurement.connections if measurement.snd in c.summaries]
    if not found:
        return {}
    sides = [
        (c.summaries[measurement.snd][_DIRECTIONS[c.data_dir]], c.summaries[measurement.snd]) for c in found
    ]
    data, whole = max(sides, key=lambda side: int(side[0]["unique_bytes"]))
    if not whole["handshake"] or not data["unique_bytes"]:
        return {}
    both = [whole[name] for name in _DIRECTIONS]
    options: Values = {
        name: int(all(side[key] for side in both))
        for name, key in (("sack", "sack_permitted"), ("timestamps", "timestamps"))
    }
    made: dict[str, Values] = {"[tcp]": options}
    if all(side["mss"] for side in both):
        made["[network]"] = {"mtu_bytes": min(int(side["mss"]) for side in both) + _HEADERS}
    # A list replaces that of the scenario it extends: the socket buffers once more.
    return made | {
        "[[flow]]": {"bytes": int(data["unique_bytes"]), "sndbuf_bytes": 8192, "rcvbuf_bytes": 8192}
    }


def _link(measurement: Timeline, link: LinkPath) -> Values:
    """Settings of the link, as its log states or shows them."""
    slot_ms = link.slot_ns / 1e6
    found: Values = {"slot_ms": slot_ms, "payload_bytes": link.payload_bytes}
    shortest_ms = 5 * slot_ms  # what the lab requires of T1, in addition to an RTT
    sent, received = (airtime.lines(measurement, link.sender, action) for action in ("snd", "rcv"))
    delay_ns = airtime.usual_delay_ns(*sent, *received)
    if delay_ns is not None:
        # A reader is woken late; what is a whole number of slots but for that is one.
        whole = round(delay_ns / link.slot_ns) * link.slot_ns
        near = abs(delay_ns - whole) <= link.slot_ns * _LATE
        delay_ms = round((whole if near else delay_ns) / 1e6, 3)
        found["delay_ms"], shortest_ms = delay_ms, shortest_ms + 2 * delay_ms
    if link.window is not None and link.window <= RLP_WINDOW:
        found["window"] = link.window
    if link.t1_ns is not None and link.t1_ns / 1e6 >= shortest_ms:
        found["t1_ms"] = link.t1_ns / 1e6
    n2 = setting(measurement, "n2")
    if n2 is not None:
        found["n2"] = n2
    events = measurement.table("link_events")
    if not np.any(events["kind"] == events.code("kind", "RNR")):
        found["drain_bps"] = 0  # neither end ever stopped the other
    if np.any(events["kind"] == events.code("kind", "call_dropped")):
        tried = np.any(events["kind"] == events.code("kind", "SABM"))
        found["on_failure"] = "reset" if tried else "drop_call"
    framing = next((str(one["framing"]) for one in framemap.of(measurement).facts), "")
    found["vj"] = "VJ" in framing
    found["vj_compress_slot"] = "without slot numbers" in framing
    return found
