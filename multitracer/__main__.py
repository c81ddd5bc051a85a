"""``multitracer`` and ``python -m multitracer``: the command line, in a process of its own."""

import gc


def program() -> None:
    """Run the command of the process's arguments, and exit with its status."""
    # What is loaded stays: to search it for cycles, once for each 700 objects, takes 3 ms of a start.
    gc.set_threshold(100_000, 50, 50)
    from multitracer.cli import main

    main.program()


if __name__ == "__main__":
    program()
