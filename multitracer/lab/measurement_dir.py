"""Writing a measurement directory: under another name until it is complete, then renamed."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Mapping
from typing import Any

from multitracer.lab.requirements import LabError
from multitracer.model import toml

COMPLETE = ("measurement.toml", "truth.json", "snd.pcap", "rcv.pcap")


def is_complete(path: str) -> bool:
    """Whether a directory holds a finished measurement."""
    return all(os.path.isfile(os.path.join(path, name)) for name in COMPLETE)


class MeasurementDir:
    """A directory that becomes `path` when all of it is there.

    Raises
    ------
    LabError
        `path` exists, or cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        if os.path.exists(self.path) and not (os.path.isdir(self.path) and not os.listdir(self.path)):
            raise LabError(f"{path} exists; choose another name or remove it")
        parent, name = os.path.split(self.path)
        self.folder = os.path.join(parent, f".{name}.partial-{os.getpid()}")
        try:
            os.makedirs(self.folder)
        except OSError as error:
            raise LabError(f"{self.folder}: {error.strerror}; choose another place") from error

    def file(self, name: str) -> str:
        """Path of a file in the making, in a folder of its own if the name has one."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def compress(self, name: str) -> str:
        """Gzip a file, reproducibly (no name or time in it); its new name."""
        with (
            open(self.file(name), "rb") as plain,
            open(self.file(name + ".gz"), "wb") as packed,
            gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as out,
        ):
            shutil.copyfileobj(plain, out)
        os.unlink(self.file(name))
        return name + ".gz"

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """Write one JSON object."""
        with open(self.file(name), "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1, allow_nan=False)
            file.write("\n")

    def write_toml(self, name: str, data: Mapping[str, Any]) -> None:
        """Write plain values as TOML."""
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(toml.document(data))

    def complete(self) -> None:
        """Give the directory its name."""
        if os.path.isdir(self.path):
            os.rmdir(self.path)  # it was empty
        os.rename(self.folder, self.path)

    def discard(self) -> None:
        """Remove what was not completed."""
        shutil.rmtree(self.folder, ignore_errors=True)


def flattened(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one level of dotted keys; lists of tables get a number."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flattened(value, f"{name}."))
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            for index, item in enumerate(value):
                flat.update(flattened(item, f"{name}.{index}."))
        else:
            flat[name] = value
    return flat
