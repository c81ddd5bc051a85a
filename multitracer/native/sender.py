"""Columns of all segments that show what senders knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import multitracer._core as _core
    from multitracer.model.table import Table


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
