"""measurement.toml: read, and each slip in it named with the word that was meant."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from multitracer.model.declared import MOST, POINTS
from multitracer.model.errors import UnreadableFile, UsageError

LARGEST_BYTES = 16 << 20
_ALIKE = 0.8
_TABLES = ("sources", "parameters")
_CLOCKS = ("realtime", "monotonic", "boottime", "local", "unknown", "simulation", "relative")
_OF_A_SOURCE = (
    "point",
    "format",
    "clock",
    "clock_offset_s",
    "clock_skew_ppm",
    "clock_uncertainty_s",
    "bearer",
    "columns",
    "header",
    "header_bytes",
    "layer",
    "mss",
    "n2",
    "names",
    "retry_limit",
    "seen_at",
    "separator",
    "series",
    "time",
    "time_format",
    "zone",
    "station",
    "ue",
    "unit",
    "units",
    "uplink_from",
    "variable",
)


def read(path: str) -> dict[str, Any]:
    """The settings in a file.

    Raises
    ------
    UnreadableFile
        It cannot be read.
    UsageError
        It is no TOML, too large, or has an invalid entry: a name nearly right, a number that is none.
    """
    import tomllib  # few measurements have settings

    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)
        if len(content) > LARGEST_BYTES:
            raise UsageError(f"{path}: larger than {LARGEST_BYTES >> 20} MiB; is it another file?")
        settings = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}; check its permissions") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML ({error}); correct it or move it away") from error
    except RecursionError as error:
        raise UsageError(f"{path}: arrays or tables are nested too deeply; flatten them") from error
    except ValueError as error:
        raise UsageError(f"{path}: a number has thousands of digits; correct it") from error
    for slip in _slips(settings, os.path.dirname(path)):
        raise UsageError(f"{path}: {slip}")
    return settings


def _slips(settings: Mapping[str, Any], folder: str) -> Iterator[str]:
    yield from _misspelt("", settings, _TABLES)
    sources = settings.get("sources")
    if not isinstance(sources, Mapping):
        return
    files = _names(folder)
    for name, said in sources.items():
        if not os.path.exists(os.path.join(folder, str(name))):
            yield from _misspelt("sources: ", [name], files)
        if not isinstance(said, Mapping):
            continue
        where = f"sources.{name!r}: "
        yield from _misspelt(where, said, _OF_A_SOURCE)
        clock = said.get("clock")
        if isinstance(clock, str):
            yield from _misspelt(f"{where}clock: ", [clock], _CLOCKS)
        point = said.get("point")
        if point is not None and point not in POINTS:
            yield f"{where}point {point!r} is none of {', '.join(POINTS)}"
        for key, value in said.items():
            if isinstance(value, float) and not math.isfinite(value):
                yield f"{where}{key} is {value}; give a number"
            elif key in MOST and isinstance(value, int | float) and abs(value) > MOST[key]:
                yield f"{where}{key} must be a number from {-MOST[key]:g} to {MOST[key]:g}"


def _misspelt(where: str, said: Iterable[object], known: Sequence[str]) -> Iterator[str]:
    """Names that are none of the known and nearly one of them; what is like none is left to its owner."""
    for name in said:
        if name not in known:
            from difflib import get_close_matches

            if meant := get_close_matches(str(name), known, 1, _ALIKE):
                yield f"{where}there is no {name!r}; did you mean {meant[0]!r}?"


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder or "."))
    except OSError:
        return []
