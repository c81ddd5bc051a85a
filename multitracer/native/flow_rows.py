"""Rows of flows in the table of all segments, as the core takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.native.grouped import whole

if TYPE_CHECKING:
    import multitracer._core as _core
    from multitracer.model.table import Array

    Bounds = tuple[Array, Array]


def bounds(flows: Bounds) -> _core._Bounds:
    """First rows of flows, and those after their last."""
    return whole(flows[0]), whole(flows[1])
