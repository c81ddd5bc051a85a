"""The console of rich, for texts that traces and file names brought along."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console as RichConsole

from multitracer.cli.visible import visible

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


class Console(RichConsole):
    """A console of rich whose texts are made visible; the styles and movements are rich's own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable."""
        for segment in super().render(renderable, options):
            clean: Any = segment if segment.control else segment._replace(text=visible(segment.text))
            yield clean
