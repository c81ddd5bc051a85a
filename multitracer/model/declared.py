"""What measurement.toml states about sources."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.errors import UsageError

POINTS = ("snd", "rcv", "mid")
MOST = {"clock_offset_s": 4e9, "clock_skew_ppm": 1e5, "clock_uncertainty_s": 4e9}
"""The largest that may be declared, of either sign: a century, a tenth; later times do not fit 64 bits."""


def entry(settings: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The ``[sources."file name"]`` table of a source; empty if there is none.

    The name is the file's name or the end of its path.

    Raises
    ------
    UsageError
        If the file has something else than a table there.
    """
    sources = settings.get("sources", {})
    if not isinstance(sources, Mapping):
        raise UsageError('measurement.toml: [sources] must hold tables by file name: [sources."snd.pcap"]')
    normal = path.replace(os.sep, "/")
    for name, value in sources.items():
        if normal == name or normal.endswith("/" + str(name)):
            if not isinstance(value, Mapping):
                raise UsageError(f"measurement.toml: sources.{name!r} must be a table")
            return value
    return {}


def point(settings: Mapping[str, Any], path: str) -> str | None:
    """The declared observation point.

    Raises
    ------
    UsageError
        If it is none of `POINTS`.
    """
    value = entry(settings, path).get("point")
    if value is not None and value not in POINTS:
        raise UsageError(f"measurement.toml: point {value!r} of {path} is none of {', '.join(POINTS)}")
    return value


def with_points(
    settings: Mapping[str, Any], point: str | Mapping[str, str] | None, paths: Sequence[str]
) -> dict[str, Any]:
    """Settings in which observation points given by the caller take precedence over those of the file.

    Parameters
    ----------
    settings : mapping
    point : str or mapping of str to str, optional
        One of `POINTS` for all captures, or by file: its name or the end of its path.
    paths : sequence of str
        The files that are read.

    Returns
    -------
    dict
        A copy; `settings` stay as they are.

    Raises
    ------
    UsageError
        No such point, or none of the files is meant.
    """
    merged = dict(settings)
    if point is None:
        return merged
    chosen: dict[str, str] = {}
    for name, value in (dict.fromkeys(paths, point) if isinstance(point, str) else point).items():
        meant = [path for path in paths if _means(name, path)]
        if value not in POINTS:
            raise UsageError(f"point {value!r} is none of {', '.join(POINTS)}")
        if not meant:
            raise UsageError(f"point of {name!r}: no such file is read")
        chosen |= dict.fromkeys(meant, value)
    sources: dict[str, Any] = {
        _normal(path): {**entry(settings, path), "point": value} for path, value in chosen.items()
    }
    known = settings.get("sources", {})
    merged["sources"] = sources | {name: value for name, value in known.items() if name not in sources}
    return merged


def points_of(point: str | Mapping[str, str] | None, paths: Sequence[str]) -> dict[str, str]:
    """Which observation points are given for these files, by path.

    Parameters
    ----------
    point : str or mapping of str to str, optional
        As of `with_points`.
    paths : sequence of str
        Files; those that `point` does not mean have no entry.
    """
    if isinstance(point, str):
        return dict.fromkeys(paths, point)
    given = (point or {}).items()
    return {path: value for path in paths for name, value in given if _means(name, path)}


def _means(name: str, path: str) -> bool:
    return path == name or _normal(path).endswith("/" + _normal(name))


def _normal(path: str) -> str:
    return path.replace(os.sep, "/")


def number(settings: Mapping[str, Any], path: str, name: str) -> float | None:
    """A declared number (``clock_offset_s``, ``clock_skew_ppm``, ``clock_uncertainty_s``).

    Parameters
    ----------
    settings : mapping of str to Any
        What measurement.toml states about files.
    path : str
        The file.
    name : str
        The key.

    Returns
    -------
    float or None
        None if it is not declared.

    Raises
    ------
    UsageError
        If it is no number, or larger than a clock can be wrong.
    """
    value = entry(settings, path).get(name)
    if value is None:
        return None
    most = MOST[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= most:
        raise UsageError(f"measurement.toml: {name} of {path} must be a number from {-most:g} to {most:g}")
    return float(value)
