"""Words of a legend, which a drawing measures a dozen times; loaded with matplotlib."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text

_DECIDING = (
    "_horizontalalignment",
    "_linespacing",
    "_multialignment",
    "_parse_math",
    "_rotation",
    "_rotation_mode",
    "_usetex",
    "_verticalalignment",
    "_wrap",
)


class Label(Text):
    """A text that remembers where its lines stand, for as long as nothing that decides this changes."""

    _remembered: tuple[Any, Any] | None = None

    def _get_layout(self, renderer: Any) -> Any:
        key = (
            type(renderer),
            renderer.points_to_pixels(1.0),
            getattr(self.figure, "dpi", None),
            self.get_text(),
            hash(self.get_fontproperties()),
            tuple(vars(self).get(name) for name in _DECIDING),
        )
        if self._remembered is None or self._remembered[0] != key:
            lay_out: Any = getattr(super(), "_get_layout")  # noqa: B009  the stubs do not have it
            self._remembered = key, lay_out(renderer)
        return self._remembered[1]
