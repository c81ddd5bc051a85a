"""What of a measurement a figure shows: connection, observation points, rows, and times as seconds."""

from __future__ import annotations

import numpy as np

from multitracer.layers.link.sendings import sendings
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.plots.fold import Floats
from multitracer.plots.plot import PlotOptions

BAD_CHECKSUM = "bad"


@frozen
class Selection:
    """One connection of a measurement, seen from the data sender.

    Attributes
    ----------
    connection : Connection or None
        None if the measurement has no capture.
    snd, rcv : int or None
        Source indices of the captures next to the data sender and receiver. A single capture whose place is
        unknown counts as the sender's.
    """

    measurement: Timeline
    connection: Connection | None
    snd: int | None
    rcv: int | None

    @property
    def data_dir(self) -> int:
        """Direction of the data."""
        return self.connection.data_dir if self.connection is not None else 0

    def seconds(self, t_ns: Array) -> Floats:
        """Times as seconds from the first TCP event."""
        relative: Floats = (t_ns - self.measurement.t0_ns).astype(np.float64) / 1e9
        return relative

    def segments(self, source: int | None, *, data: bool) -> Table:
        """Rows of one capture: data segments of the data direction, or all segments against it, by time."""
        table = self.measurement.table("segments")
        if source is None or self.connection is None:
            return table.where(np.zeros(len(table), dtype=bool))
        wanted = (table["source"] == source) & (table["conn"] == self.connection.index)
        if data:
            wanted &= (table["dir"] == self.data_dir) & (table["length"] > 0)
        else:
            wanted &= table["dir"] != self.data_dir
        return table.where(wanted).sorted_by("t_ns")

    def states(self) -> Table:
        """Kernel samples of the data sender, by time, from sources on the timeline."""
        table = self.measurement.table("tcp_states")
        if self.connection is None:
            wanted = np.ones(len(table), dtype=bool)
        else:
            wanted = (table["conn"] == self.connection.index) & (table["dir"] == self.data_dir)
        wanted &= ~np.isin(table["source"], unjoined(self.measurement))
        return table.where(wanted).sorted_by("t_ns")

    def link(self, name: str) -> Table:
        """Rows of a link table, by time, from sources on the timeline."""
        table = self.measurement.table(name)
        rows = table.where(~np.isin(table["source"], unjoined(self.measurement))).sorted_by("t_ns")
        return sendings(self.measurement, rows) if name == "link_frames" else rows


def select(measurement: Timeline, options: PlotOptions) -> Selection:
    """The connection that the options name, or the one with the most data.

    Raises
    ------
    UsageError
        If there is no such connection.
    """
    segments = measurement.table("segments")
    if not measurement.connections:
        if options.conn is not None:
            raise UsageError(f"connection {options.conn}: the measurement has no connections")
        return Selection(measurement, None, measurement.snd, measurement.rcv)
    by_index = {connection.index: connection for connection in measurement.connections}
    if options.conn is None:
        known = segments.where(segments["conn"] >= 0)
        volume = np.bincount(known["conn"], weights=known["length"], minlength=max(by_index) + 1)
        chosen = max(by_index, key=lambda index: (volume[index], -index))
    elif options.conn in by_index:
        chosen = options.conn
    else:
        raise UsageError(f"connection {options.conn} does not exist: 0 to {max(by_index)} do")
    snd, rcv = measurement.snd, measurement.rcv
    if snd is None and rcv is None:
        captures = segments["source"][segments["conn"] == chosen]
        snd = int(np.bincount(captures).argmax()) if len(captures) else None
    return Selection(measurement, by_index[chosen], snd, rcv)


def unjoined(measurement: Timeline) -> list[int]:
    """Sources that no clock relation joins to the timeline: their times would mislead."""
    return [clock.source for clock in measurement.clocks if clock.grade == "unjoined"]
