"""Variables of ns-2's TCP agents, as ``$tcp trace`` writes them (docs/formats/ns2-variables.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace

_LINE = re.compile(rb"^\d+\.\d{5} +\d+ +-?\d+ +\d+ +-?\d+ +[A-Za-z]\w{0,62}_ +-?\d\S* *\r?$", re.MULTILINE)

# Variable, column, what one of it is in the column's unit
_COLUMNS = (
    ("cwnd_", "cwnd", 1.0),
    ("ssthresh_", "ssthresh", 1.0),
    ("srtt_", "srtt_ns", 1e9),
    ("rttvar_", "rttvar_ns", 1e9),
    ("ndatabytes_", "bytes_sent", 1.0),
    ("nrexmitbytes_", "bytes_retrans", 1.0),
    ("nrexmitpack_", "retrans_total", 1.0),
)
_PLACED = {name for name, _, _ in _COLUMNS} | {"backoff_"}


def sniff(head: bytes) -> bool:
    """Whether there are lines of time, the ends of a connection, a name and a value."""
    return _LINE.search(head) is not None


def parse(path: str) -> Trace:
    """Read variables: `tcp_states` with what is known at each time, and `series` of the other variables.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be used.

    Notes
    -----
    A variable is written when it changes; a row has the last values of all. Numbers of packets (`maxseq_`,
    `ack_`) have no place in bytes, as the file does not contain the size of a packet: they are series, and
    their difference is `unacked`.

    Reference: ns-2.35 ``tcp/tcp.cc``, ``TcpAgent::traceVar``.
    """
    scan = native.scan("ns2_variables", path)
    raw, names = scan.tables["variables"], scan.facts["names"]
    if not len(raw["t_ns"]):
        raise CorruptTrace(f"{path}: no variable of an ns-2 agent can be read; is it cut or another format?")
    order = np.argsort(raw["t_ns"], kind="stable")
    raw = {name: column[order] for name, column in raw.items()}
    flows = scan.facts["flows"]
    states = [_states(raw, names, flow) for flow in range(len(flows))]
    tables = {"tcp_states": Table.concat(schema.TCP_STATES, states).sorted_by("t_ns")}
    kept = np.isin(raw["name"], [at for at, name in enumerate(names) if name not in _PLACED])
    if kept.any():
        titles = _titles(names, flows)
        called = [titles[flow, name] for flow, name in zip(raw["flow"][kept], raw["name"][kept], strict=True)]
        columns = {
            "t_ns": raw["t_ns"][kept],
            "record": raw["record"][kept],
            "name": np.array(called, dtype=object),
            "value": raw["value"][kept],
        }
        tables["series"] = Table.filled(schema.SERIES, int(kept.sum()), columns)
    source = Source(
        path=path,
        format="ns2-variables",
        layer="kernel",
        records=len(order),
        clock="simulation",
        first_ns=int(raw["t_ns"][0]),
        last_ns=int(raw["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details={"variables": list(names)},
    )
    return Trace(source, tables, scan.issues, [Flow(*flow) for flow in flows])


def _titles(names: list[str], flows: list[tuple[str, int, str, int]]) -> dict[tuple[int, int], str]:
    """Series by flow and variable; the sockets are named where there are several."""
    titles = {}
    for flow, (local, port, remote, remote_port) in enumerate(flows):
        where = f" {local}:{port} > {remote}:{remote_port}" if len(flows) > 1 else ""
        for at, name in enumerate(names):
            titles[flow, at] = name + where
    return titles


_HOLDABLE = 1e100


def _states(raw: dict[str, Array], names: list[str], flow: int) -> Table:
    """A row for each time at which a variable of this flow changed."""
    mine = np.flatnonzero(raw["flow"] == flow)
    t_ns, name, value = (raw[column][mine] for column in ("t_ns", "name", "value"))
    last = np.flatnonzero(np.append(np.diff(t_ns) != 0, True))
    rows = len(last)

    def known(variable: str) -> Array:
        """Its value at each row; NaN before the first."""
        found = np.full(rows, np.nan)
        if variable in names:
            at = np.flatnonzero(name == names.index(variable))
            place = np.searchsorted(at, last, side="right") - 1
            found[place >= 0] = value[at[place[place >= 0]]]
        # What no column holds is unknown, and nothing is computed from it.
        return np.where(np.abs(found) < _HOLDABLE, found, np.nan)

    columns = {
        "t_ns": t_ns[last],
        "record": raw["record"][mine][last],
        "flow": np.full(rows, flow, dtype=np.int32),
    }
    for variable, column, unit in _COLUMNS:
        columns[column] = _integers(known(variable) * unit, column)
    # ns-2 keeps the factor of the timer, 1, 2, 4 ..., and not its exponent.
    columns["backoff"] = _integers(np.log2(np.maximum(known("backoff_"), 1)), "backoff")
    columns["unacked"] = _integers(known("maxseq_") - known("ack_"), "unacked")
    return Table.filled(schema.TCP_STATES, rows, columns)


def _integers(values: Array, column: str) -> Array:
    """Whole numbers, rounded down as ns-2 does with windows; -1 for what is unknown or impossible."""
    kind = schema.TCP_STATES.by_name[column].dtype
    # the largest float below the type's limit
    sane = (values >= 0) & (values < float(np.iinfo(kind).max))
    found = np.floor(np.where(sane, values, -1) + 1e-6)
    return np.asarray(found.astype(kind))


PARSER = Parser(
    name="ns2-variables",
    title="ns-2 variables of TCP agents ($tcp trace): cwnd_, ssthresh_, srtt_ and others",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
