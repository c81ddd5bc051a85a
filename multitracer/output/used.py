"""What may be said of a utilization, by how exactly it is known: one rule for sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SURELY_ALL = 0.75
"""An estimate whose lower bound is below this does not say that all of the link's capacity was used."""


def may_be_all(found: Mapping[str, Any]) -> bool:
    """Whether it can be said that all of the capacity was used, if the value is that high.

    Parameters
    ----------
    found : mapping
        ``utilization`` (docs/json.md).
    """
    return found["basis"] == "link log" or float(found["low"]) >= SURELY_ALL
