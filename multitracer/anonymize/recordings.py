"""The directory that `multitracer record` wrote, without addresses, payload and names."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from typing import Any, BinaryIO

from multitracer.anonymize.captures import anonymize_capture
from multitracer.anonymize.mapping import Mapping
from multitracer.model import toml
from multitracer.model.errors import MultiTracerError, UnreadableFile

# Whatever could be an address: dotted, with colons, or six pairs of digits. What is none stays.
_WORD = re.compile(rb"(?<![\w.:])(?:[0-9A-Fa-f]*:[0-9A-Fa-f:.]+|\d{1,3}(?:\.\d{1,3}){3})(?![\w])")
_PAIRS = re.compile(rb"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_PORT = re.compile(rb"(.+?)(:\d+)")
# Name and number of the process of a tracepoint: the number stays.
_TASK = re.compile(rb"^(\s*)(\S.*)(-\d+\s+(?:\([^)]*\)\s+)?\[\d{3,}\])")
_IDLE = b"<idle>"
_ANONYMOUS = "anonymized"


def anonymize_recording(folder: str, mapping: Mapping) -> list[str]:
    """Write each file of a recording again; one that cannot be is removed, and named.

    Parameters
    ----------
    folder : str
    mapping : Mapping

    Returns
    -------
    list of str
        What was removed, each with the reason.
    """
    problems = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        work = _work(name)
        try:
            if work is None:
                raise UnreadableFile("its contents are unknown")
            with open(path, "rb") as source, open(f"{path}.new", "wb") as target:
                work(source, target, mapping)
            os.replace(f"{path}.new", path)
        except (OSError, MultiTracerError) as error:
            for one in (path, f"{path}.new"):
                if os.path.isfile(one):
                    os.unlink(one)
            words = error.strerror if isinstance(error, OSError) else str(error)
            problems.append(f"removed {name}, which could not be anonymized: {words}")
    return problems


def _work(name: str) -> Callable[[BinaryIO, BinaryIO, Mapping], Any] | None:
    if name.startswith("capture."):
        return anonymize_capture
    if name == "measurement.toml":
        return _settings
    return {".trace": _trace, ".ss": _lines, ".log": _lines}.get(os.path.splitext(name)[1])


def _lines(source: BinaryIO, target: BinaryIO, mapping: Mapping) -> None:
    for line in source:
        target.write(without_addresses(line, mapping))


def _trace(source: BinaryIO, target: BinaryIO, mapping: Mapping) -> None:
    """Tracepoints: also the names of processes."""
    for line in source:
        task = _TASK.match(line)
        if task is not None and task[2] != _IDLE:
            line = task[1] + b"task" + task[3] + line[task.end() :]
        target.write(without_addresses(line, mapping))


def without_addresses(line: bytes, mapping: Mapping) -> bytes:
    """A line of a log with its addresses mapped; ports, interfaces and all else stay."""

    def mapped(found: re.Match[bytes]) -> bytes:
        word = found[0]
        if _PAIRS.fullmatch(word):
            return mapping.ethernet(bytes.fromhex(word.replace(b":", b"").decode())).hex(":").encode()
        text = word.decode("ascii")
        new = mapping.ip_text(text)
        if new == text and b"." in word and (port := _PORT.fullmatch(word)):
            return mapping.ip_text(port[1].decode("ascii")).encode() + port[2]
        return new.encode()

    return _WORD.sub(mapped, line)


def _settings(source: BinaryIO, target: BinaryIO, mapping: Mapping) -> None:
    """``measurement.toml``: names of the host, the filter and the command reveal too much."""
    try:
        data = tomllib.loads(source.read().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnreadableFile("measurement.toml cannot be read") from error
    for table, key in (("host", "name"), ("record", "filter"), ("record", "command")):
        if isinstance(data.get(table), dict) and data[table].get(key):
            data[table][key] = [_ANONYMOUS] if key == "command" else _ANONYMOUS
    if isinstance(data.get("record"), dict):
        data["record"]["anonymized"] = True
    target.write(without_addresses(toml.document(data).encode(), mapping))
