"""The process that `painters` starts: a pickled picture in, a pickled PNG out, until its input ends."""

from __future__ import annotations

import os
import pickle
import sys

from multitracer.plots import libraries


def main() -> None:
    """Draw; None in the place of a picture that cannot be drawn."""
    # Nothing that prints may get into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    libraries.without_help()
    while True:
        try:
            picture = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            drawn = picture.png()
        except Exception:
            drawn = None  # the other process finds out why
        pickle.dump(drawn, answers)
        answers.flush()


if __name__ == "__main__":
    main()
