"""What a batch found, as tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from multitracer.batch.find import Unread
from multitracer.batch.rows import COLUMNS
from multitracer.batch.rules import Broken
from multitracer.model.quantities import count

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.batch.study import Pivot

Record = dict[str, Any]

_BROKE_OFF = {"call_dropped": "the call was dropped", "unfinished": "the transfer broke off"}
_STOOD_STILL = {"standstill": "the path stalled", "log_stall": "nothing moved"}


def goodput_bps(record: Record) -> float | None:
    """Payload of all connections per second, from the first packet to the last; of one, its own goodput."""
    found = record["connections"]
    if len(found) < 2:
        return found[0].get("goodput_bps") if found else None
    if any(one.get("start_s") is None or one.get("duration_s") is None for one in found):
        return None
    start_s = min(float(one["start_s"]) for one in found)
    seconds = max(float(one["start_s"]) + float(one["duration_s"]) for one in found) - start_s
    return 8.0 * sum(int(one["bytes"] or 0) for one in found) / seconds if seconds > 0 else None


def flagged_for(record: Record, below: float) -> str:
    """Why a measurement is flagged; empty if it is not, or could not be analysed.

    Parameters
    ----------
    record : dict
        Of a measurement.
    below : float
        Percent of utilization at which, and below which, it is flagged.

    Returns
    -------
    str
        How it broke off, that it stalled for most of what it lost, or its utilization.
    """
    if record["status"] != "done":
        return ""
    used, kinds = record["utilization"], [one["kind"] for one in record["diagnosis"]]
    if used.get("call_dropped"):
        return _BROKE_OFF["call_dropped"]
    for kind, words in _BROKE_OFF.items():
        if kind in kinds:
            return words
    main = next((kind for kind in kinds if kind != "utilization"), "")
    if main in _STOOD_STILL:
        return _STOOD_STILL[main]
    value = used["value"]
    return f"utilization {100 * value:.1f}%" if value is not None and 100 * value <= below else ""


def flag_rule(found: Batch) -> str:
    """What the flagged measurements of a batch are flagged for."""
    words = f"utilization of {found.flag_below:g}% or less"
    others = {
        why for one in found.flagged if not (why := flagged_for(one, found.flag_below)).startswith("util")
    }
    return f"{words}; {', '.join(sorted(others))}" if others else words


@dataclass
class Batch:
    """All measurements of a tree.

    Attributes
    ----------
    records : list of dict
        One for each measurement, by name: status, utilization, causes, diagnosis, connections, issues.
    unread : list of Unread
        Files that belong to no measurement or could not be read.
    flag_below : float
        Percent of utilization at which, and below which, a transfer is flagged.
    output : str or None
        Where everything was written.
    cached : int
        Measurements that were finished in an earlier run.
    removed : list of str
        Measurements of the run before, into the same place, that no longer exist: their results were removed.
    broken : list of Broken
        Rules of `fail_on` that were broken: measurement (empty for a rule about the whole batch), rule, text.
    """

    records: list[Record]
    unread: list[Unread] = field(default_factory=list)
    flag_below: float = 95.0
    output: str | None = None
    cached: int = 0
    removed: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)

    @property
    def done(self) -> list[Record]:
        """Measurements that were analysed."""
        return [record for record in self.records if record["status"] == "done"]

    @property
    def failed(self) -> list[Record]:
        """Measurements that could not be analysed; ``record["error"]["text"]`` has the reason."""
        return [record for record in self.records if record["status"] != "done"]

    @property
    def flagged(self) -> list[Record]:
        """Measurements that broke off, stalled, or are at the threshold or below it, the worst first.

        By utilization; those without one come first: nothing better is known of them.
        """
        found = [record for record in self.records if flagged_for(record, self.flag_below)]
        return sorted(found, key=lambda record: (record["utilization"]["value"] or 0.0, record["name"]))

    @property
    def parameters(self) -> list[str]:
        """Columns that are parameters of runs."""
        return sorted({name for record in self.done for name in record["parameters"]})

    @property
    def varied(self) -> list[str]:
        """Parameters that are not the same in all measurements."""
        return [
            name
            for name in self.parameters
            if len({str(record["parameters"].get(name)) for record in self.done}) > 1
        ]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The summary: a row for each connection, every row with all columns."""
        names = [*COLUMNS, *self.parameters]
        found = []
        for record in self.done:
            for one in record["connections"]:
                row = dict.fromkeys(names) | {"name": record["name"]} | one | record["parameters"]
                energy = row.get("energy_j")
                if isinstance(energy, int | float) and row["bytes"]:
                    row["energy_j_per_mbit"] = round(energy / (8e-6 * row["bytes"]), 6)
                found.append(row)
        return found

    def frame(self) -> pd.DataFrame:
        """The summary as pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=[*COLUMNS, *self.parameters])

    def pivot(self, metric: str, rows: str, columns: str | None = None) -> Pivot:
        """A metric over one parameter or two; see `multitracer.batch.study.pivot`.

        Parameters
        ----------
        metric : str
            A column of the summary.
        rows : str
            The parameter by row.
        columns : str, optional
            The parameter by column.
        """
        from multitracer.batch.study import pivot

        return pivot(self.rows, metric, rows, columns)

    def causes(self) -> list[dict[str, Any]]:
        """What utilization was lost to over the whole set: time, bytes and measurements by cause."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for record in self.done:
            for one in record["causes"]:
                entry = found.setdefault(
                    (one["cause"], one["kind"]),
                    {"cause": one["cause"], "kind": one["kind"], "measurements": 0, "s": 0.0, "shares": []},
                )
                entry["measurements"] += 1
                entry["s"] += one["s"] or 0.0
                entry["shares"].append(one["share"])
        return sorted(found.values(), key=lambda one: (-sum(one["shares"]), one["cause"]))

    def __repr__(self) -> str:
        return (
            f"<Batch of {count(len(self.records), 'measurement')}: {len(self.done):,} done, "
            f"{len(self.flagged):,} flagged, {len(self.failed):,} failed>"
        )
