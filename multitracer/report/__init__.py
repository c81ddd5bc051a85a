"""One page with what was found: self-contained, read offline, nothing of a trace runs in it.

- `write`: the page of an analysis as a file.
- `document`: the page put together, with its content policy.
- `markup`: HTML in which every word is escaped unless it is marked as markup.
- `facts`: what cost the most time, in words.
- `tables`, `sources`: its rows.
- `interactive`: the figure, its legend and its data.
- `stills`: the gaps of link resets as pictures; `swatch`: the samples next to the names in a legend.
- `assets`: our own script and style.
"""

from __future__ import annotations

from multitracer.report.write import render, write

__all__ = ["render", "write"]
