"""Numbers given as options."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A finite number, within a range if one is stated.

    To click, "nan" and "inf" are numbers, and nan is within every range: a threshold of it is never missed.
    """

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error if it is none, not finite or out of the range.

        Parameters
        ----------
        value : object
            As given.
        param, ctx : object or None
            What a usage error names.
        """
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return found
