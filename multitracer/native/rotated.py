"""A path that stands for the files of one capture."""

from __future__ import annotations

from collections.abc import Sequence


class Parts(str):
    """The path of the first file, with those of all; what reads captures reads them as one.

    Attributes
    ----------
    files : tuple of str
        Paths in the order of the capture, the first included.
    """

    files: tuple[str, ...]

    def __new__(cls, files: Sequence[str]) -> Parts:
        """Of at least one file."""
        path = super().__new__(cls, files[0])
        path.files = tuple(files)
        return path

    def __reduce__(self) -> tuple[type[Parts], tuple[tuple[str, ...]]]:
        return Parts, (self.files,)
