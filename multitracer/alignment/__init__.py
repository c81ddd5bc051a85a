"""Traces of one transfer on one timeline.

`align` fits clocks and joins sources; `align_single` takes one summarised capture as its own reference.
Each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.model.lazy import load_when_used

if TYPE_CHECKING:
    from multitracer.alignment.assemble import align as align
    from multitracer.alignment.single_capture import align_single as align_single

__all__ = ["align", "align_single"]

_PLACES = {"align": "multitracer.alignment.assemble", "align_single": "multitracer.alignment.single_capture"}

__getattr__ = load_when_used(globals(), _PLACES)
