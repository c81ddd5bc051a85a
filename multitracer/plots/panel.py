"""What a figure is made of: panels of series, marks and spans, as data.

Nothing here depends on a colour or a renderer: a role defines what a thing is, the renderer its look.
All x values are seconds from the first TCP event; `Figure.t0_ns` makes them absolute.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

import numpy as np
import numpy.typing as npt

from multitracer.model.frozen import frozen
from multitracer.plots.fold import Floats, Fold

Integers = npt.NDArray[np.int64]

SeriesKind = Literal["points", "steps", "line", "bars"]
PieceEnds = Literal["plain", "arrow", "dimension"]
Role = Literal[
    "snd_data",
    "snd_ack",
    "rcv_data",
    "rcv_ack",
    "link_data",
    "link_retransmission",
    "link_reset",
    "trend",
    "trend_between",
    "cwnd",
    "cwnd_sample",
    "ssthresh",
    "flight",
    "rwnd",
    "timeout",
    "timeout_spurious",
    "timeout_genuine",
    "timeout_inconclusive",
    "fast_retransmit",
    "slow_start_retransmission",
    "tail_loss_probe",
    "other_retransmission",
    "corrupted",
    "local_drop",
    "zero_window",
    "flow_control",
    "reset_handshake",
    "reset_gap",
    "idle_handshake",
    "idle_timeout_wait",
    "idle_receiver_window",
    "idle_application",
    "idle_last_ack",
    "idle_pacing",
    "idle_local_drop",
    "idle_recovery_stall",
    "idle_power_save",
    "idle_unknown",
    "slow_start",
    "pause",
    "limit_congestion",
    "limit_receiver",
    "limit_neither",
    "sack",
    "corrupted_true",
    "packet_path",
    "packet_again",
    "packet_lost",
    "rtt_sample",
    "srtt",
    "rto",
    "throughput",
    "goodput",
    "delay",
    "delay_back",
    "min_rtt",
    "histogram",
    "range",
    "dimension",
    "note",
    "curve_1",
    "curve_2",
    "curve_3",
    "curve_4",
    "curve_5",
    "curve_6",
    "curve_7",
    "curve_8",
]


@frozen
class Axis:
    """An axis: what it shows and in which unit ("" for a pure number); `words` are at 0, 1, 2 ..."""

    label: str
    unit: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@frozen(eq=False)
class Series:
    """One curve or cloud of points.

    Attributes
    ----------
    name : str
        As in the paper, section 4.5 (``TcpSnd_data``); unique within its panel.
    role : str
    x, y : arrays of float64
        Seconds and the unit of the panel's y axis, in order of x.
    kind : {"points", "steps", "line", "bars"}
        steps: the value holds until the next x. bars: from zero up to y, `width` wide, around x.
    label : str
        Words for the legend.
    group : str
        Heading under which the legend lists it.
    record, source : array of int64 and int
        Row in the source file behind each point, and the index of the source; None and -1 if there is none.
    in_limits : bool
        Whether the y range makes room for it.
    """

    name: str
    role: Role
    x: Floats
    y: Floats
    kind: SeriesKind = "points"
    label: str = ""
    group: str = ""
    record: Integers | None = None
    source: int = -1
    in_limits: bool = True
    width: float = 0.0

    def __post_init__(self) -> None:
        _same_length(self.name, self.x, self.y, self.record)

    def inside(self, window: tuple[float, float]) -> npt.NDArray[np.bool_]:
        """Which points lie in a time window (both ends included)."""
        return (self.x >= window[0]) & (self.x <= window[1])

    def words(self, window: tuple[float, float]) -> str:
        """Legend entry for a time window; "" if the window shows nothing of it."""
        if self.kind in ("points", "bars"):
            return self.label if self.inside(window).any() else ""
        return self.label if len(self.x) and self.x[0] <= window[1] and self.x[-1] >= window[0] else ""


@frozen(eq=False)
class Marks:
    """Places of one kind that must be seen: never decimated away.

    Attributes
    ----------
    x : array of float64
    y : array of float64 or None
        None: a vertical line across the panel.
    letter : str
        Glyph drawn beside each place, with one meaning in all figures; "" for the role's symbol alone.
    texts : tuple of str
        Words printed beside each place where there is room; empty or one per place.
    details : tuple of str
        Words shown on demand (hover); empty or one per place.
    """

    name: str
    role: Role
    x: Floats
    y: Floats | None = None
    letter: str = ""
    label: str = ""
    group: str = ""
    texts: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _same_length(self.name, self.x, self.y, self.texts or None, self.details or None)

    def inside(self, window: tuple[float, float]) -> npt.NDArray[np.bool_]:
        """Which places lie in a time window (both ends included)."""
        return (self.x >= window[0]) & (self.x <= window[1])

    def words(self, window: tuple[float, float]) -> str:
        """Legend entry with letter and number of places in a time window; "" if there are none."""
        count = int(self.inside(window).sum())
        if not count or not self.label:
            return ""
        explained = not self.letter or self.label.startswith(f"{self.letter}: ")
        return f"{'' if explained else f'{self.letter}: '}{self.label} ({count:,})"


@frozen(eq=False)
class Spans:
    """Times during which something held.

    Attributes
    ----------
    start, end : arrays of float64
        Seconds.
    lane : str
        Row of the lane panel; "" to shade the panel's whole height.
    texts, details : tuple of str
        As in `Marks`.
    """

    name: str
    role: Role
    start: Floats
    end: Floats
    lane: str = ""
    label: str = ""
    group: str = ""
    texts: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _same_length(self.name, self.start, self.end, self.texts or None, self.details or None)

    def inside(self, window: tuple[float, float]) -> npt.NDArray[np.bool_]:
        """Which spans overlap a time window."""
        return (self.end >= window[0]) & (self.start <= window[1])

    def words(self, window: tuple[float, float]) -> str:
        """Legend entry with number and length of the spans in a time window; "" if there are none.

        Lengths that read the same are multiplied (``26 × 1.1 s``), others averaged (``3, mean 13.2 s``).
        """
        lengths = (self.end - self.start)[self.inside(window)]
        if not len(lengths) or not self.label:
            return ""
        shortest, longest = (duration_words(float(one)) for one in (lengths.min(), lengths.max()))
        sign = " \N{MULTIPLICATION SIGN} " if shortest == longest else ", mean "
        count = f"{len(lengths):,}{sign}" if len(lengths) > 1 else ""
        return f"{self.label} ({count}{duration_words(float(lengths.mean()))})"


@frozen(eq=False)
class Pieces:
    """Straight pieces, each from (x, y) to (x_end, y_end): data bars, a packet's path, dimension lines.

    In a panel of lanes, y is the number of the lane from the top.

    Attributes
    ----------
    ends : {"plain", "arrow", "dimension"}
        arrow: a head at the end. dimension: a distance is measured, with a stroke across both ends.
    texts : tuple of str
        Words printed at the middle of each piece; empty or one per piece. Those of a dimension are always
        printed.
    details : tuple of str
        Words shown on demand (hover); empty or one per piece.
    """

    name: str
    role: Role
    x: Floats
    y: Floats
    x_end: Floats
    y_end: Floats
    ends: PieceEnds = "plain"
    label: str = ""
    group: str = ""
    texts: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    in_limits: bool = True

    def __post_init__(self) -> None:
        _same_length(
            self.name, self.x, self.y, self.x_end, self.y_end, self.texts or None, self.details or None
        )

    def inside(self, window: tuple[float, float]) -> npt.NDArray[np.bool_]:
        """Which pieces overlap a time window."""
        low, high = np.minimum(self.x, self.x_end), np.maximum(self.x, self.x_end)
        return (high >= window[0]) & (low <= window[1])

    def words(self, window: tuple[float, float]) -> str:
        """Legend entry with the number of pieces in a time window; "" if there are none."""
        count = int(self.inside(window).sum())
        return f"{self.label} ({count:,})" if count and self.label else ""


@frozen(eq=False)
class Panel:
    """One coordinate system; all panels of a figure share the time axis.

    Attributes
    ----------
    name : str
        Identifier, unique within the figure.
    y : Axis
    lanes : tuple of str
        If given, the panel is a stack of rows, from the top, and has no y values.
    height : float
        Relative to the other panels.
    zero : bool
        Whether the y range always begins at zero.
    log : bool
        Whether the y axis is logarithmic: what is not positive is not drawn.
    """

    name: str
    y: Axis
    series: tuple[Series, ...] = ()
    marks: tuple[Marks, ...] = ()
    spans: tuple[Spans, ...] = ()
    lanes: tuple[str, ...] = ()
    height: float = 1.0
    zero: bool = False
    pieces: tuple[Pieces, ...] = ()
    log: bool = False

    def limits(self, window: tuple[float, float]) -> tuple[float, float]:
        """Range of y over the data inside a time window, with a margin.

        A step series also counts with the value that it carries into the window.
        """
        found: list[Floats] = []
        for series in self.series:
            if not series.in_limits:
                continue
            found.append(series.y[series.inside(window)])
            if series.kind == "steps":
                before = int(np.searchsorted(series.x, window[0], side="right")) - 1
                if before >= 0:
                    found.append(series.y[before : before + 1])
        found.extend(marks.y[marks.inside(window)] for marks in self.marks if marks.y is not None)
        for pieces in self.pieces:
            if pieces.in_limits:
                inside = pieces.inside(window)
                found += [pieces.y[inside], pieces.y_end[inside]]
        values = np.concatenate(found) if found else np.empty(0)
        values = values[np.isfinite(values)]
        if self.log:
            return _decades(values)
        if len(values) == 0:
            return 0.0, 1.0
        low, high = float(values.min()), float(values.max())
        if self.zero:
            low = min(low, 0.0)
        if high <= low:
            high = low + max(1.0, abs(low) * 1e-3)
        margin = 0.05 * (high - low)
        worded = any(len(pieces.texts) > 1 and any(pieces.texts) for pieces in self.pieces)
        worded |= sum(pieces.ends == "dimension" and any(pieces.texts) for pieces in self.pieces) > 1
        if any(series.kind == "bars" for series in self.series):
            margin *= 3.0  # a number stands on each bar, in a picture for a phone too
        elif worded:
            margin *= 2.0  # words are over and under lines
        return (low if self.zero and low == 0.0 else low - margin), high + margin


@frozen(eq=False)
class Figure:
    """Panels over one time axis, with the words around them.

    Attributes
    ----------
    window : tuple of float
        Times shown first, in seconds; the series hold all data.
    t0_ns : int
        Zero of the time axis, nanoseconds since the Unix epoch if `absolute`.
    absolute : bool
        Whether the time axis shows the time of day (UTC).
    notes : tuple of str
        What the reader must know: missing layers, doubtful clocks.
    fold : Fold, optional
        Empty stretches to draw short. All data stays in true time; the renderer places it.
    x_log : bool
        Whether the x axis is logarithmic: what is not positive is not drawn.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    window: tuple[float, float]
    subtitle: str = ""
    notes: tuple[str, ...] = ()
    x: Axis = field(default_factory=lambda: Axis("Time since the first TCP event", "s"))
    x_log: bool = False
    t0_ns: int = 0
    absolute: bool = False
    theme: Literal["light", "dark"] = "light"
    fold: Fold | None = None

    def shown(self) -> tuple[float, float]:
        """The window as it is drawn: a logarithmic axis begins at the smallest positive x of the data."""
        if not self.x_log or self.window[0] > 0:
            return self.window
        found = [series.x for panel in self.panels for series in panel.series if not panel.lanes]
        values = np.concatenate(found) if found else np.empty(0)
        values = values[(values > 0) & (values <= self.window[1])]
        low = float(values.min()) if len(values) else 1e-3
        return low, max(self.window[1], 1.02 * low)

    def panel(self, name: str) -> Panel:
        """A panel by name; `KeyError` if there is none."""
        for panel in self.panels:
            if panel.name == name:
                return panel
        raise KeyError(name)


def _decades(values: Floats) -> tuple[float, float]:
    """Range of a logarithmic axis over the positive ones of some values, with a margin."""
    values = values[values > 0]
    if not len(values):
        return 1.0, 10.0
    low, high = float(values.min()), float(values.max())
    if high < 1.5 * low:
        return low / 1.5, high * 1.5
    margin = (high / low) ** 0.05
    return low / margin, high * margin


def duration_words(seconds: float) -> str:
    """A duration in the words of a label."""
    if 0 < seconds < 0.9995e-3:
        return f"{seconds * 1e6:,.3g} µs"
    return f"{seconds * 1e3:,.0f} ms" if seconds < 0.9995 else f"{seconds:,.1f} s"


def _same_length(name: str, *columns: npt.NDArray[np.generic] | tuple[str, ...] | None) -> None:
    lengths = {len(column) for column in columns if column is not None}
    if len(lengths) > 1:
        raise ValueError(f"{name}: columns of different lengths {sorted(lengths)}")
