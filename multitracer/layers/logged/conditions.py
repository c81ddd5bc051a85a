"""Numbers of a link over time (RSRP, SNR, rate, cell): series of a link's log."""

from __future__ import annotations

from typing import NamedTuple

from multitracer.layers.logged.flows import Samples, is_quantity, named_series
from multitracer.model.lazy import np
from multitracer.model.timeline import Timeline

UNITS = {
    "dbm": "dBm",
    "db": "dB",
    "bps": "bit/s",
    "ms": "ms",
    "s": "s",
    "bytes": "bytes",
    "kmh": "km/h",
    "mps": "m/s",
    "hz": "Hz",
    "mhz": "MHz",
    "percent": "%",
}
"""Units at the end of names of series (``rsrp_dbm``), as they are written."""


_ACRONYMS = frozenset(("rsrp", "rsrq", "rssi", "sinr", "snr", "cqi", "mcs", "bler", "pci", "prb", "harq"))


class Condition(NamedTuple):
    """A number over time.

    Attributes
    ----------
    name : str
        As in the table `series`.
    words, unit : str
        The name without its unit, and the unit; "" if the name has none.
    source : int
    samples : Samples
    """

    name: str
    words: str
    unit: str
    source: int
    samples: Samples


def conditions(m: Timeline) -> list[Condition]:
    """Numbers of logs of links, in the order of the files and of their columns; found once."""
    return m.once("logged_conditions", lambda: _found(m))


def _found(m: Timeline) -> list[Condition]:
    table = m.table("series")
    found: list[Condition] = []
    if not len(table):
        return found
    for source in np.unique(table["source"]).tolist():
        if m.sources[source].layer != "link":
            continue
        mine = table.where(table["source"] == source)
        for label, name, rows in named_series(mine):
            if is_quantity(name):
                continue
            base, _, ending = name.rpartition("_")
            unit = UNITS.get(ending, "") if base else ""
            words = (base if unit else name).replace("_", " ")
            words = " ".join(word.upper() if word in _ACRONYMS else word for word in words.split(" "))
            samples = Samples(mine["t_ns"][rows], mine["value"][rows], mine["record"][rows])
            called = f"{label}: {words}" if label else words
            found.append(Condition(name, called, unit, source, samples))
    return found
