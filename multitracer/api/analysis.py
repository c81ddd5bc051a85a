"""All answers about a measurement together, with the report page that shows them."""

from __future__ import annotations

import os
from typing import Any

from multitracer.output.results import Answers


class Analysis(Answers):
    """Named results of one measurement: each is an attribute (``analysis.utilization``) and prints itself."""

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write the page that ``multitracer report`` writes; see `multitracer.report.write`."""
        from multitracer.api.views import each_connection, worth_seeing
        from multitracer.report import write

        write(self, path, title, each=each_connection(self.measurement, worth_seeing(self)))

    def plot(
        self, kind: str = "multilayer", path: str | os.PathLike[str] | None = None, **options: Any
    ) -> Any:
        """Draw a figure of it.

        Parameters
        ----------
        kind, path, **options
            As `multitracer.plot` takes them.
        """
        from multitracer.api.drawing import draw

        return draw({"": (self.measurement, self.results)}, kind, path, **options)
