"""How the core is called: its errors as the package's, what a reader found, the files of one capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from multitracer.model.errors import CorruptTrace, Issue, UnreadableFile
from multitracer.native.rotated import Parts

if TYPE_CHECKING:
    import multitracer._core as _core
    from multitracer.model.table import Array

_Result = TypeVar("_Result")


def called(path: str, work: Callable[[], _Result]) -> _Result:
    """The result of a call into the core, whose errors name the file.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If nothing of it can be used.
    """
    try:
        return work()
    except OSError as error:
        raise UnreadableFile(
            f"{path}: {error.strerror or error}; check the path and its permissions"
        ) from error
    except ValueError as error:
        raise CorruptTrace(f"{path}: {error}") from error


class Scan(NamedTuple):
    """What a scanner of text logs found.

    Attributes
    ----------
    tables : dict of str to dict of str to array
        Columns by the name of the schema; columns that the format does not have are left out.
    issues : list of Issue
    facts : dict
        Facts about the file; which ones depends on the format (its file in ``rust/core/src/text/``).
    """

    tables: dict[str, dict[str, Array]]
    issues: list[Issue]
    facts: dict[str, Any]


def scanned(path: str, scanner: Callable[[str], _core._TextScan]) -> Scan:
    """What a reader of the core found in a file, its issues as the package's."""
    tables, issues, facts = called(path, lambda: scanner(path))
    return Scan(
        tables, [Issue(code, count, record, detail, path) for code, count, record, detail in issues], facts
    )


def several(path: str) -> list[str]:
    """The files of one capture."""
    return list(path.files) if isinstance(path, Parts) else [path]


def named(paths: Sequence[str]) -> str:
    """How errors call the files of one capture."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} to {paths[-1]}"
