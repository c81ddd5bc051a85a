"""Files that appear complete, or not at all: written under another name, and then given their own.

A name may be that of a device or of a pipe (``/dev/null``, ``/dev/stdout``): a file must not take its place.
A symbolic link stays one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def completed(path: str | os.PathLike[str], ending: str = "") -> Iterator[str]:
    """A name for what is written, which gets the name `path` when all went well, and is removed when not.

    Parameters
    ----------
    path : str or path-like
        Of a file; a device or a pipe of that name gets its content.
    ending : str
        Of the name.

    Raises
    ------
    OSError
    """
    target = os.path.realpath(path)
    is_file = _takes_a_file(target)
    directory = os.path.dirname(target) if is_file else tempfile.gettempdir()
    temporary = os.path.join(directory, f".multitracer-{os.urandom(8).hex()}{ending}")
    try:
        yield temporary
        if is_file:
            os.replace(temporary, target)
        else:
            with open(temporary, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _takes_a_file(target: str) -> bool:
    """Whether nothing is there, a file, or a directory (which refuses one)."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
