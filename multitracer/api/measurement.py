"""The traces of one transfer on one timeline, as users meet them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import UsageError
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from multitracer.layers.framemap import FrameMap
    from multitracer.model.table import Table
    from multitracer.model.trace import Trace


class Measurement(Timeline):
    """A timeline with what is derived from it: all events in one table, the frame map, whole packets."""

    @classmethod
    def of(cls, timeline: Timeline) -> Measurement:
        """The same traces and tables, shared with a timeline."""
        return cls(**{one.name: getattr(timeline, one.name) for one in fields(timeline) if one.init})

    @property
    def events(self) -> pd.DataFrame:
        """The unified, time-ordered table over all layers."""
        return self.events_table().frame()

    def events_table(self) -> Table:
        """`events` as a `Table`, built at the first call."""
        from multitracer.layers.events import unified

        return unified(self)

    @property
    def frame_map(self) -> FrameMap:
        """Which link frames carried which TCP segment, worked out at the first call."""
        from multitracer.layers import framemap

        return framemap.of(self)

    def packet(self, record: int, source: int | None = None) -> Any:
        """One packet of a capture, decoded whole, as dpkt gives it.

        Parameters
        ----------
        record : int
            Its number in the file, from 1: the `record` column of every table.
        source : int, optional
            Index of the capture; the one next to the data sender by default.

        Raises
        ------
        UsageError
            If the source is no capture, or has no such record.
        """
        from multitracer.native.whole_packet import decode

        index = self.snd if source is None else source
        if index is None or not 0 <= index < len(self.traces) or self.traces[index].source.layer != "tcp":
            raise UsageError(f"source {index} is not a packet capture; name one with source=")
        return decode(self.traces[index].source.path, record)

    def __repr__(self) -> str:
        files = ", ".join(source.path for source in self.sources)
        return f"<Measurement of {files}: {count(len(self.connections), 'connection')}>"

    def _repr_html_(self) -> str:
        from multitracer.report.notebook import measurement_html

        return measurement_html(self)


def align(traces: Sequence[Trace], settings: Mapping[str, Any] | None = None) -> Measurement:
    """Put the traces of one transfer on one timeline; see `multitracer.alignment.assemble.align`.

    Parameters
    ----------
    traces : sequence of Trace
        As `multitracer.open_trace` reads them.
    settings : mapping, optional
        Contents of measurement.toml.

    Raises
    ------
    AlignmentError
        If all captures are copies of one and no other source is given.
    """
    from multitracer import alignment

    return Measurement.of(alignment.align(traces, settings))
