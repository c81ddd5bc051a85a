"""Several plain links in series, with a place for a capture between each two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multitracer.lab.settings.plain import PlainSettings, plain_settings
from multitracer.model.errors import UsageError

MOST_HOPS = 8


@dataclass(frozen=True, kw_only=True)
class PathSettings:
    """A path of plain links.

    Attributes
    ----------
    hops : tuple of PlainSettings
        From side 0 to side 1. In a mapping: the list "hop", each a table as the plain link takes it.
    """

    hops: tuple[PlainSettings, ...] = (PlainSettings(), PlainSettings())


def path_settings(settings: Mapping[str, Any]) -> PathSettings:
    """Read ``{"hop": [{...}, {...}]}``; without it, two hops of the plain link's defaults.

    Raises
    ------
    UsageError
        For an unknown key, or what is no list of tables of a link.
    """
    if unknown := sorted(set(settings) - {"hop"}):
        raise UsageError(f"unknown setting {unknown[0]!r}; known: hop")
    if "hop" not in settings:
        return PathSettings()
    given = settings["hop"]
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_HOPS:
        raise UsageError(f"hop: 1 to {MOST_HOPS} tables are needed")
    hops = []
    for number, table in enumerate(given):
        if not isinstance(table, Mapping):
            raise UsageError(f"hop.{number}: a table is needed, not {table!r}")
        try:
            hops.append(plain_settings(table))
        except UsageError as error:
            raise UsageError(f"hop.{number}: {error}") from None
    return PathSettings(hops=tuple(hops))
