"""Words and legends that a drawing measures a dozen times, and lays out once; loaded with matplotlib."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from matplotlib.legend import Legend
from matplotlib.offsetbox import PackerBase
from matplotlib.text import Text

_DECIDING = (
    "_features",
    "_horizontalalignment",
    "_language",
    "_linespacing",
    "_multialignment",
    "_parse_math",
    "_rotation_mode",
    "_usetex",
    "_verticalalignment",
)
_known: Any = Text
_lay_out = _known._get_layout


def _remembered(self: Any, renderer: Any) -> Any:
    """Where its lines stand, for as long as nothing that decides this changes."""
    own = vars(self)
    if own.get("_wrap"):  # by where it stands
        return _lay_out(self, renderer)
    key = (
        type(renderer),
        renderer.points_to_pixels(1.0),
        getattr(self.figure, "dpi", None),
        self.get_text(),
        self.get_rotation(),
        hash(self.get_fontproperties()),
        *map(own.get, _DECIDING),
    )
    before = own.get("_remembered")
    if before is None or before[0] != key:
        before = own["_remembered"] = key, _lay_out(self, renderer)
    return before[1]


class Label(Text):
    """A text that remembers its layout."""

    _get_layout = _remembered


def remember_all() -> None:
    """From now on every text of matplotlib in this process remembers its layout."""
    _known._get_layout = _remembered


class Key(Legend):
    """A legend whose boxes ask each other once how large they are, not once for each box that holds them."""

    def draw(self, renderer: Any) -> None:
        """As its base does."""
        with _measured_once(self):
            super().draw(renderer)

    def get_window_extent(self, renderer: Any = None) -> Any:
        """The box of all entries, in pixels."""
        with _measured_once(self):
            return super().get_window_extent(renderer)


@contextlib.contextmanager
def _measured_once(legend: Any) -> Iterator[None]:
    boxes: list[Any] = [box for box in legend.findobj(PackerBase) if not vars(box).get(_BOXES)]
    for box in boxes:
        vars(box)[_BOXES] = _once(getattr(box, _BOXES))
    try:
        yield
    finally:
        for box in boxes:
            vars(box).pop(_BOXES)


_BOXES = "_get_bbox_and_child_offsets"


def _once(measure: Any) -> Any:
    found: list[Any] = []

    def measured(renderer: Any) -> Any:
        if not found:
            found.append(measure(renderer))
        return found[0]

    return measured
