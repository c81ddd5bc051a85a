"""What ``[sources."FILE"]`` of measurement.toml may state about how a file is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.model.trace import Flow

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units of time."""

BYTES = {"bytes": 1.0, "B": 1.0, "kB": 1e3, "KB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2}
"""Units of size."""


HOST = rb"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])"
"""An address as logs write it before a port: IPv4, or IPv6 in brackets. A regular expression."""


def text(settings: Mapping[str, Any], path: str, name: str, choices: Sequence[str] = ()) -> str | None:
    """A word.

    Parameters
    ----------
    settings : mapping of str to Any
        What measurement.toml states about the file.
    path : str
        The file, for errors.
    name : str
        The key.
    choices : sequence of str
        Words that are possible; empty: all.

    Returns
    -------
    str or None
        None if it is not stated.

    Raises
    ------
    UsageError
        If it is no text, or none of the choices.
    """
    value = settings.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or (choices and value not in choices):
        wanted = f"one of {', '.join(choices)}" if choices else "text"
        raise UsageError(f"measurement.toml: {name} of {path} must be {wanted}, not {value!r}")
    return value


def words(settings: Mapping[str, Any], path: str, name: str) -> dict[str, str]:
    """A table of words by word.

    Parameters
    ----------
    settings : mapping of str to Any
        What measurement.toml states about the file.
    path : str
        The file, for errors.
    name : str
        The key.

    Returns
    -------
    dict of str to str
        Empty if it is not stated.

    Raises
    ------
    UsageError
    """
    value = settings.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
        raise UsageError(f'measurement.toml: {name} of {path} must be a table of texts: {{ time = "t" }}')
    return dict(value)


def names(settings: Mapping[str, Any], path: str, name: str) -> list[str] | None:
    """A list of words.

    Parameters
    ----------
    settings : mapping of str to Any
        What measurement.toml states about the file.
    path : str
        The file, for errors.
    name : str
        The key.

    Returns
    -------
    list of str or None
        None if it is not stated.

    Raises
    ------
    UsageError
    """
    value = settings.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f'measurement.toml: {name} of {path} must be a list of names: ["time", "src"]')
    return list(value)


def unit(name: str, units: Mapping[str, float], path: str) -> float:
    """The factor of a unit; ``jiffies_250`` is 1/250 s where seconds are asked for.

    Parameters
    ----------
    name : str
        The unit as measurement.toml has it.
    units : mapping of str to float
        Factors by name of the unit.
    path : str
        The file, for errors.

    Raises
    ------
    UsageError
    """
    if name in units:
        return units[name]
    rate = name.removeprefix("jiffies_")
    if units is SECONDS and rate != name and rate.isascii() and rate.isdigit() and 0 < int(rate) <= 10_000:
        return 1 / int(rate)
    known = ", ".join(units) + (", jiffies_HZ" if units is SECONDS else "")
    raise UsageError(f"measurement.toml: unit {name!r} of {path} is none of {known}")


def endpoint(value: str) -> tuple[str, int] | None:
    """``10.0.0.1:80`` or ``[2001:db8::1]:80`` as address and port; None if it is neither."""
    import ipaddress

    host, colon, port = value.strip().rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        return None
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address), int(port)


def flow(local: str, remote: str) -> Flow | None:
    """A socket out of two endpoints as text; None if one cannot be read."""
    ends = endpoint(local), endpoint(remote)
    return None if ends[0] is None or ends[1] is None else Flow(*ends[0], *ends[1])
