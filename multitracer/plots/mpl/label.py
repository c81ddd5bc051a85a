"""Words that a drawing measures a dozen times, and lays out once; loaded with matplotlib."""

from __future__ import annotations

from typing import Any

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
