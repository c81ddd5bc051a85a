"""From a directory tree to its measurements."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote

from multitracer.batch.pairing import groups
from multitracer.batch.storage import filesystem, is_remote
from multitracer.model.errors import MultiTracerError, UnreadableFile
from multitracer.model.frozen import frozen
from multitracer.reading.discovery import SETTINGS_FILE
from multitracer.reading.opening import recognise

HEAD_BYTES = 65536
CAPTURE_ENDINGS = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")
"""A file called so was meant as a trace, whatever is in it: it is listed as unreadable, not left out."""

RECORD_FOLDER = "frames"
"""Where a run of the lab keeps a second record of its link, so that no frame is counted twice."""


@frozen
class Unit:
    """One measurement to be analysed.

    Attributes
    ----------
    name : str
        Path of the directory under the root, with slashes; of captures paired by content, also the name of
        the first file.
    files : tuple of str
        Paths under the root, with slashes.
    bytes : int
        Size of the files together.
    whole : bool
        All files of a directory: what is no trace among them is left out. Else each must be a trace.
    """

    name: str
    files: tuple[str, ...]
    bytes: int
    whole: bool


@frozen
class Unread:
    """A file or directory that could not be read, or belongs to no measurement."""

    path: str
    reason: str


@frozen
class Found:
    """What a tree holds."""

    units: list[Unit]
    unread: list[Unread]


def find(root: str, leave_out: str | None = None) -> Found:
    """The measurements under a root, in order of their names.

    A directory with a measurement.toml is one measurement. So is one with traces, unless its captures share
    no connection: then those that share one form a measurement each, and logs go with the captures that have
    their sockets. Directories below a measurement are looked into as well, but
    for `frames` of a run of the lab; links to them are not followed.

    Parameters
    ----------
    root : str
        A directory, or a path of fsspec; there, each directory with captures is one measurement.
    leave_out : str, optional
        The output, should it lie under the root.

    Raises
    ------
    UnreadableFile
        No such directory.
    """
    if is_remote(root):
        return _find_remote(root)
    if not os.path.isdir(root):
        raise UnreadableFile(f"{root}: no such directory; name the directory that holds the measurements")
    units: list[Unit] = []
    unread: list[Unread] = []
    avoid = None if leave_out is None or is_remote(leave_out) else os.path.realpath(leave_out)

    def failed(error: OSError) -> None:
        place = _under(root, str(error.filename))
        unread.append(Unread(place, error.strerror or "cannot be listed"))

    for directory, folders, names in os.walk(root, onerror=failed):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(directory, name)) != avoid
        )
        if os.path.realpath(directory) == avoid:
            continue
        if SETTINGS_FILE in names and RECORD_FOLDER in folders:
            folders.remove(RECORD_FOLDER)
        files = sorted(
            name
            for name in names
            if not name.startswith(".") and os.path.isfile(os.path.join(directory, name))
        )
        found, rest = _in_directory(root, directory, files)
        units += found
        unread += rest
    return Found(sorted(units, key=lambda unit: unit.name), sorted(unread, key=lambda one: one.path))


def _in_directory(root: str, directory: str, names: list[str]) -> tuple[list[Unit], list[Unread]]:
    paths = [os.path.join(directory, name) for name in names]
    place = _under(root, directory)
    if SETTINGS_FILE in names:
        return [_unit(root, place, paths, whole=True)], []
    traces = [path for path in paths if _is_trace(path)]
    if not traces:
        meant = any(name.lower().endswith(CAPTURE_ENDINGS) for name in names)
        return ([_unit(root, place, paths, whole=True)], []) if meant else ([], [])
    grouped, rest = groups(traces)
    if len(grouped) <= 1:
        return [_unit(root, place, paths, whole=True)], []
    units = []
    for members in grouped:
        name = os.path.basename(members[0])
        units.append(_unit(root, name if place == "." else f"{place}/{name}", members, whole=False))
    unread = [Unread(_under(root, path), reason) for path, reason in rest]
    unread += [
        Unread(_under(root, path), _why_not(path))
        for path in paths
        if path not in traces and path.lower().endswith(CAPTURE_ENDINGS)
    ]
    return units, unread


def _why_not(path: str) -> str:
    """What `analyze` reports of a file that is no trace, without the advice that fits a single one."""
    from multitracer import registry

    try:
        recognise(path, registry.parsers())
    except MultiTracerError as error:
        said = str(error).removeprefix(f"{path}: ")
        return re.split(r"; | \(see ", said, maxsplit=1)[0]
    return "not a trace of a known format"


def _is_trace(path: str) -> bool:
    from multitracer import native, registry

    try:
        head = native.head(path, HEAD_BYTES)
    except MultiTracerError:
        return False
    return any(parser.claims(path, head) for parser in registry.parsers().values())


def _unit(root: str, name: str, paths: list[str], whole: bool) -> Unit:
    size = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
    return Unit(name, tuple(_under(root, path) for path in paths), size, whole)


def _under(root: str, path: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _find_remote(root: str) -> Found:
    system, protocol, base = filesystem(root)
    try:
        listed: dict[str, Any] = system.find(base, detail=True)
    except Exception as error:  # every file system has errors of its own
        raise UnreadableFile(f"{root}: {error}; check address and credentials") from error
    if not listed:
        raise UnreadableFile(f"{root}: nothing there; check the address")
    directories: dict[str, list[tuple[str, int]]] = {}
    for path, about in listed.items():
        inside = path.removeprefix(base).lstrip("/")
        place, _, name = inside.rpartition("/")
        hidden = any(part.startswith(".") for part in inside.split("/"))
        if name and not hidden and ".." not in inside.split("/"):
            directories.setdefault(place or ".", []).append((inside, int(about.get("size") or 0)))
    units = []
    for where, files in sorted(directories.items()):
        names = [inside.rpartition("/")[2] for inside, _ in files]
        if SETTINGS_FILE in names or any(name.lower().endswith(CAPTURE_ENDINGS) for name in names):
            members = tuple(sorted(path for path, _ in files))
            # Addresses of HTTP are quoted; parameters are read off the name, as a file system has it.
            name = unquote(where) if protocol in ("http", "https") else where
            units.append(Unit(name, members, sum(size for _, size in files), whole=True))
    return Found(units, [])
