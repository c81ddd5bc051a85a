"""Files that appear complete, or not at all: written under another name, and then given their own.

A name may be that of a device or of a pipe (``/dev/null``, ``/dev/stdout``): a file must not take its place.
A symbolic link stays one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile


def temporary_name(path: str | os.PathLike[str], ending: str = "") -> str:
    """A name for what is to be written, where it can be given the name `path`.

    Parameters
    ----------
    path : str or path-like
    ending : str
        Of the name.
    """
    target = os.path.realpath(path)
    directory = os.path.dirname(target) if _takes_a_file(target) else tempfile.gettempdir()
    return os.path.join(directory, f".multitracer-{secrets.token_hex(8)}{ending}")


def complete(temporary: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Give a file its name; a device or a pipe of that name gets its content.

    Parameters
    ----------
    temporary : str or path-like
        Of `temporary_name`.
    path : str or path-like

    Raises
    ------
    OSError
    """
    target = os.path.realpath(path)
    if _takes_a_file(target):
        os.replace(temporary, target)
        return
    with open(temporary, "rb") as source, open(target, "wb") as sink:
        shutil.copyfileobj(source, sink)
    os.unlink(temporary)


def _takes_a_file(target: str) -> bool:
    """Whether nothing is there, a file, or a directory (which refuses one)."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
