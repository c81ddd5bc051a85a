"""PDUs of radio bearers out of text logs: collected by bearer, and the busiest one followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.frozen import frozen
from multitracer.model.lazy import np
from multitracer.model.linktype import rlc, seen_by
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

if TYPE_CHECKING:
    from multitracer.model.table import Array

ENTITIES = ["ue", "bs"]
DATA, STATUS, NACK = 0, 1, 2
_TABLES = (schema.LINK_FRAMES, schema.LINK_EVENTS, schema.RLC_PDUS)
_SHOWN = 20
_KIND = 2


@frozen
class Bearer:
    """Rows of one bearer, in the order of the log.

    Attributes
    ----------
    columns : sequence of int64 arrays
        Those of `native.track_rlc`.
    unknown : int64 array, optional
        Records of status reports whose ACK_SN is not in the log.
    bytes, highest : int
        User bytes, and the largest sequence number.
    """

    columns: Sequence[Array]
    unknown: Array | None = None
    bytes: int = 0
    highest: int = 0

    def count(self, kind: int) -> int:
        """How many rows are of a kind."""
        return int(np.count_nonzero(self.columns[_KIND] == kind))


Bearers = dict[tuple[int, str], Bearer]
"""By number of the terminal and name."""


@frozen
class Wanted:
    """The bearer that measurement.toml asks for, and who wrote the log."""

    ue: int | None
    bearer: str | None
    view: str

    @classmethod
    def of(cls, path: str, settings: Mapping[str, Any]) -> Wanted:
        """Check ``ue``, ``bearer`` and ``seen_at``."""
        ue = settings.get("ue")
        if ue is not None and (isinstance(ue, bool) or not isinstance(ue, int) or ue < 0):
            raise UsageError(f"measurement.toml: ue of {path} must be the number of a terminal in the log")
        bearer = fileoptions.text(settings, path, "bearer")
        view = fileoptions.text(settings, path, "seen_at", ("air", *ENTITIES)) or "air"
        return cls(ue, None if bearer is None else bearer.lower(), view)


def trace_of(path: str, format: str, radio: str, sn_bits: int, found: Bearers, wanted: Wanted) -> Trace:
    """The busiest bearer that is wanted, as a link log.

    Raises
    ------
    CorruptTrace
        If there is none.
    """
    chosen = _chosen(path, found, wanted)
    bearer = found[chosen]
    if sn_bits == 0:  # NR: as many bits as are needed
        sn_bits = 12 if bearer.highest < 1 << 12 else 18
    scan = native.track_rlc(path, sn_bits=sn_bits, view=wanted.view, columns=bearer.columns)
    tables = {one.name: Table.in_time(one, scan.tables[one.name]) for one in _TABLES}
    if bearer.unknown is not None and len(bearer.unknown):
        for name, kind, column in (("link_events", "RR", "nr"), ("rlc_pdus", "status", "number")):
            table = tables[name]
            unknown = np.isin(table["record"], bearer.unknown) & (table["kind"] == table.code("kind", kind))
            tables[name] = table.replace(**{column: np.where(unknown, -1, table[column])})
    source = Source(
        path=path,
        format=format,
        layer="link",
        records=sum(len(one.columns[_KIND]) for one in found.values()),
        clock="realtime",
        first_ns=int(bearer.columns[0].min()),
        last_ns=int(bearer.columns[0].max()),
        resolution_ns=1000,
        point="+".join(ENTITIES),
        details={"radio": radio, **_facts(chosen, bearer), "sn_bits": sn_bits, "bearers": _listed(found)},
    )
    bearers = rlc(radio, both_ends=False)
    links = [
        bearers if wanted.view == "air" else seen_by(bearers, entity == wanted.view) for entity in ENTITIES
    ]
    return Trace(source, tables, scan.issues, entities=list(ENTITIES), links=links)


def _chosen(path: str, found: Bearers, wanted: Wanted) -> tuple[int, str]:
    fitting = [
        key
        for key in found
        if wanted.ue in (None, key[0]) and wanted.bearer in (None, key[1]) and found[key].count(DATA)
    ]
    if fitting:
        return max(fitting, key=lambda key: found[key].bytes)
    names = ", ".join(f"ue {ue} {name}" for ue, name in list(found)[:_SHOWN])
    if not names:
        raise CorruptTrace(f"{path}: no RLC PDU in it; is the RLC layer logged in enough detail?")
    raise CorruptTrace(f"{path}: no data PDU of the bearer that is wanted; there are {names}")


def _facts(key: tuple[int, str], bearer: Bearer) -> dict[str, Any]:
    return {
        "ue": key[0],
        "bearer": key[1],
        "data_pdus": bearer.count(DATA),
        "data_bytes": bearer.bytes,
        "status_pdus": bearer.count(STATUS),
        "nacks": bearer.count(NACK),
    }


def _listed(found: Bearers) -> list[dict[str, Any]]:
    busiest = sorted(found, key=lambda key: -found[key].bytes)
    return [_facts(key, found[key]) for key in busiest[:_SHOWN]]
