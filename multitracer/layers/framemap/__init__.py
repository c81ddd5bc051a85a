"""Which frames of the link carried which TCP segment, and the other way round.

The map is loaded and made when a timeline is first asked for it: loading alone takes longer than all the
rest of a small capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multitracer.layers.framemap.lookup import FrameMap as FrameMap
    from multitracer.model.timeline import Timeline


def of(timeline: Timeline) -> FrameMap:
    """The map of a timeline, made at the first call."""
    from multitracer.layers.framemap.lookup import frame_map

    return timeline.once("frame map", lambda: frame_map(timeline))
