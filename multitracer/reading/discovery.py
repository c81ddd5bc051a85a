"""From the paths that a user gives to the files of one measurement."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from multitracer.model.errors import UnreadableFile, UsageError
from multitracer.model.frozen import changeable
from multitracer.reading import settingsfile
from multitracer.reading.remote import is_url
from multitracer.reading.rotation import joined

SETTINGS_FILE = "measurement.toml"
STDIN = "-"


@changeable
class Files:
    """What was found.

    Attributes
    ----------
    named : list of str
        Files that the user named: each must be readable.
    found : list of str
        Files of directories that the user named, in name order: those that are no traces are left out.
    settings : dict
        Contents of measurement.toml; empty without one.
    """

    named: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        text = os.fspath(path)
    except TypeError as error:
        hint = ": unpack it, read(*paths)" if isinstance(path, list | tuple | set) else ""
        raise UsageError(f"a path must be a str or a Path, not {type(path).__name__}{hint}") from error
    if isinstance(text, bytes):
        raise UsageError("a path must be a str or a Path, not bytes: convert it with os.fsdecode")
    return text


def discover(paths: Iterable[str | os.PathLike[str]]) -> Files:
    """Files behind `paths`: the files among them, and those in the directories among them, one level deep.

    A directory that holds nothing but recordings of hosts stands for these. ``-`` is standard input, a URL a
    file that fsspec opens. Captures that continue each other are one (`Parts`).

    Raises
    ------
    UnreadableFile
        A path that does not exist, or a directory or measurement.toml that cannot be read.
    UsageError
        The same file named twice, two measurement.toml, or one that is not TOML; what is no path.
    """
    files = Files()
    tomls: list[str] = []
    named: set[str] = set()
    for path in map(_text, paths):
        if os.path.isdir(path):
            for entry in _entries(path) or _of_recordings(path):
                (tomls if os.path.basename(entry) == SETTINGS_FILE else files.found).append(entry)
        elif path == STDIN:
            if STDIN in files.named:
                raise UsageError("standard input is named twice; it can be read once")
            files.named.append(path)
        elif is_url(path):
            if path in named:
                raise UsageError(f"{path}: named twice; name each file once")
            named.add(path)
            files.named.append(path)
        elif not os.path.lexists(path):
            raise UnreadableFile(f"{path}: no such file or directory; check the path")
        elif os.path.basename(path) == SETTINGS_FILE:
            tomls.append(path)
        else:
            real = os.path.realpath(path)
            if real in named:
                raise UsageError(f"{path}: named twice; name each file once")
            named.add(real)
            files.named.append(path)
    files.found = joined(_once(files.found, named))
    files.named = joined(files.named)
    if len({os.path.realpath(toml) for toml in tomls}) > 1:
        recorded = {os.path.dirname(toml): settingsfile.read(toml) for toml in tomls}
        if all("record" in one for one in recorded.values()):
            files.settings = of_hosts(recorded)
            return files
        raise UsageError(
            f"two {SETTINGS_FILE}: {tomls[0]} and {tomls[1]}; one call reads one measurement, read them apart"
        )
    if tomls:
        files.settings = settingsfile.read(tomls[0])
    return files


def _of_recordings(path: str) -> list[str]:
    """Files of the directories in a directory, if each is a recording (has a measurement.toml); else none."""
    with os.scandir(path) as entries:
        folders = sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    if not folders or not all(os.path.isfile(os.path.join(one, SETTINGS_FILE)) for one in folders):
        return []
    return [entry for folder in folders for entry in _entries(folder)]


def of_hosts(recorded: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The settings of recordings of several hosts of one transfer, by directory, as those of one measurement.

    Each states its clocks against its own time of day, which differs between hosts: it is left out, and logs
    are joined by what is in them.
    """
    sources: dict[str, Any] = {}
    for folder, settings in recorded.items():
        entries = settings.get("sources")
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            if isinstance(entry, dict):
                kept = {key: value for key, value in entry.items() if not key.startswith("clock_")}
                sources[f"{folder}/{name}".replace(os.sep, "/")] = kept
    return {"sources": sources, "recorded": recorded}


def _entries(directory: str) -> list[str]:
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise UnreadableFile(f"{directory}: {error.strerror}; check its permissions") from error
    paths = [os.path.join(directory, name) for name in names if not name.startswith(".")]
    # Of what is found and not named, only files: opening a pipe takes away what is in it.
    return [path for path in paths if os.path.isfile(path) or not os.path.exists(path)]


def _once(found: list[str], named: set[str]) -> list[str]:
    seen = set(named)
    kept = []
    for path in found:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            kept.append(path)
    return kept
