"""Files that appear complete or not at all, with names and words that are safe."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
from collections.abc import Iterator
from typing import IO, Any

from multitracer.model.complete_files import completed
from multitracer.model.errors import UsageError

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_UNSPEAKABLE = re.compile(r"[^A-Za-z0-9 _,.:;()%+*/=<>#?!\[\]'-]")
_ASCII = str.maketrans(
    {"\N{MULTIPLICATION SIGN}": "x", "\N{RIGHTWARDS ARROW}": "->", "\N{PLUS-MINUS SIGN}": "+-"}
)


@contextlib.contextmanager
def writing(path: str, *, binary: bool = False) -> Iterator[IO[Any]]:
    """A file under a temporary name next to `path`, renamed to it on success and removed on failure.

    A name that ends in ``.gz`` is written compressed.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    try:
        with completed(path) as temporary, contextlib.ExitStack() as opened:
            file: Any = opened.enter_context(open(temporary, "xb"))
            if path.lower().endswith(".gz"):
                # Neither name nor time of writing: the same content gives the same bytes.
                packed = gzip.GzipFile(fileobj=file, filename="", mode="wb", mtime=0, compresslevel=6)
                file = opened.enter_context(packed)
            if not binary:
                file = opened.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline="\n"))
            yield file
    except OSError as error:
        words = error.strerror or str(error)
        raise UsageError(f"{path}: cannot be written: {words}; choose another place") from error


def folder(path: str) -> str:
    """A directory, made if it is not there.

    Raises
    ------
    UsageError
        If it cannot be made, or a file is in its place.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot create this directory: {error.strerror or error}") from error
    return path


def named(path: str, names: list[str], ending: str) -> list[str]:
    """Paths in a directory, which is made: one for each name, in their order.

    Parameters
    ----------
    path : str
        The directory.
    names : list of str
        What each file is about; where two are equal they are numbered.
    ending : str
        With its dot.

    Returns
    -------
    list of str
        As many as `names`.

    Raises
    ------
    UsageError
        If the directory cannot be made.
    """
    place = folder(path)
    return [os.path.join(place, name + ending) for name in distinct(names)]


def file_name(words: str) -> str:
    """A name as a file name: letters, digits, `_` and `-` only, at most 60 of them."""
    return _UNSAFE.sub("_", words)[:60].strip("_-") or "series"


def distinct(names: list[str]) -> list[str]:
    """File names for a list of names, numbered where two would be the same file."""
    taken: dict[str, int] = {}
    found = []
    for name in map(file_name, names):
        key = name.lower()  # some file systems ignore case
        taken[key] = taken.get(key, 0) + 1
        found.append(name if taken[key] == 1 else f"{name}-{taken[key]}")
    return found


def line(words: str, most: int = 200) -> str:
    """Words on one line in ASCII, without what a plotting tool could take for a command."""
    return _UNSPEAKABLE.sub("?", " ".join(words[:most].split()).translate(_ASCII))
