"""Columns of all segments that tell what senders knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.native.grouped import whole

if TYPE_CHECKING:
    import multitracer._core as _core
    from multitracer.model.table import Array, Table


def columns(segments: Table) -> _core._SenderColumns:
    """In the order of ``Segments`` in ``rust/core/src/segments/sender.rs``."""
    return (
        segments["t_ns"],
        segments["record"],
        segments["seq"],
        segments["ack"],
        segments["length"],
        segments["duplicate"],
        segments["window"],
        segments["checksum"],
    )


def bounds(flows: tuple[Array, Array]) -> _core._Bounds:
    """First rows of flows, and those behind their last."""
    return whole(flows[0]), whole(flows[1])
