"""Clock fitting: offset, skew, steps and bounds of one clock against another, from order alone.

Everything rests on one fact: an effect is not earlier than its cause. An event seen at time ``r`` on the
reference clock *before* an event seen at time ``x`` on the source clock gives ``offset(x) >= r - x`` (a
*lower* point); the other order gives ``offset(x) <= r - x`` (an *upper* point). The offset is a line
over source time; all lines that keep above every lower point and below every upper point are possible.
With packets in both directions the gap between the two hulls is the smallest round-trip time, so the
offset is known to half of it.

References
----------
Jabbarifar et al., "LIANA: Live Incremental Time Synchronization" (convex hulls, both directions); Moon,
Skelly, Towsley, "Estimation and Removal of Clock Skew", INFOCOM 1999 (one direction, linear
programming); Paxson, "On Calibrating Measurements of Packet Transit Times", SIGMETRICS 1998 (steps, both
directions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.alignment.clocks.points import ClockLine, Fit, Float, Int, Piece, Points, apply_pieces
from multitracer.model.lazy import load_when_used

if TYPE_CHECKING:
    from multitracer.alignment.clocks.convex_hull import MAX_SKEW_PPM as MAX_SKEW_PPM
    from multitracer.alignment.clocks.fitting import fit as fit, fit_median as fit_median

__all__ = [
    "MAX_SKEW_PPM",
    "ClockLine",
    "Fit",
    "Float",
    "Int",
    "Piece",
    "Points",
    "apply_pieces",
    "fit",
    "fit_median",
]

_PLACES = {
    "MAX_SKEW_PPM": "multitracer.alignment.clocks.convex_hull",
    "fit": "multitracer.alignment.clocks.fitting",
    "fit_median": "multitracer.alignment.clocks.fitting",
}
"""What fits is loaded where there are two clocks."""

__getattr__ = load_when_used(globals(), _PLACES)
