"""The entry point: a group whose commands are loaded when used, and every error as one line."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from multitracer.cli.common import INTERRUPTED, NO_ROOM, PIPE_CLOSED, USAGE, exit_status
from multitracer.cli.visible import say
from multitracer.model.errors import MultiTracerError
from multitracer.model.lazy import without_help

COMMANDS = {
    "record": "multitracer.cli.record:command",
    "doctor": "multitracer.cli.record:doctor",
    "info": "multitracer.cli.info:command",
    "analyze": "multitracer.cli.analyze:command",
    "explain": "multitracer.cli.explain:command",
    "events": "multitracer.cli.events:command",
    "plot": "multitracer.cli.plot:command",
    "report": "multitracer.cli.report:command",
    "batch": "multitracer.cli.batch:command",
    "compare": "multitracer.cli.compare:command",
    "export": "multitracer.cli.export:command",
    "lab": "multitracer.cli.lab:command",
    "formats": "multitracer.cli.formats:command",
    "completion": "multitracer.cli.completion:command",
}

_ANONYMIZE = "export CAPTURE --to pcap --anonymize -o OUT"
EXPECTED = {
    "anonymize": _ANONYMIZE,
    "anonymise": _ANONYMIZE,
    "capture": "record -o DIR",
    "convert": "export CAPTURE --to FORMAT -o OUT",
    "diff": "compare BEFORE AFTER",
    "draw": "plot PATH -o FILE",
    "figure": "plot PATH -o FILE",
    "follow": "analyze - --follow",
    "glossary": "explain --term WORD",
    "graph": "plot PATH -o FILE",
    "html": "report PATH -o FILE.html",
    "live": "analyze - --follow",
    "serve": "analyze - --follow --serve",
    "stats": "analyze PATH",
    "summary": "analyze PATH",
    "wireshark": "export CAPTURE --to pcapng -o OUT",
}
"""Common wrong names of commands, and the command that does it."""


class _PipeClosed(Exception):
    """The reader of our output went away; click would turn BrokenPipeError into status 1."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command, or the list of all, is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a session's work, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command behind a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; of a name that is none, the nearest is in the error."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(name, COMMANDS, 2)
            meant = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(COMMANDS)}"
            if name.lower() in EXPECTED:
                meant = f"; try: multitracer {EXPECTED[name.lower()]}"
            if os.path.exists(name):
                meant = f"; to analyse a file or directory: multitracer analyze {name}"
            ctx.fail(f"no command {name!r}{meant}")
        return super().resolve_command(ctx, args)

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Parse the words; ``--version`` and ``--help`` print here, perhaps to a closed stream."""
        try:
            return super().make_context(*given, **more)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and hand over all of its output, so that a closed pipe is noticed here."""
        try:
            outcome = super().invoke(ctx)
            sys.stdout.flush()
            return outcome
        except BrokenPipeError as error:
            raise _PipeClosed from error


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import multitracer

        say(f"multitracer {multitracer.__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "auto_envvar_prefix": "MULTITRACER",
    },
    epilog="Exit status: 0 done; 2 usage; 3 nothing readable; 4 data loss (--strict); 5 threshold missed; "
    "6 out of memory, or output not written.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
)
def group() -> None:
    """Explain why a TCP transfer was slow.

    MultiTracer puts packet captures, kernel TCP logs and link-layer logs of one transfer on one timeline and
    reports throughput, utilization, retransmissions by cause, spurious timeouts, link resets.

    \b
    multitracer info sample_traces/flow-control
    multitracer analyze sample_traces/link-resets-vj
    multitracer plot sample_traces/link-resets-vj -o resets.png
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit status: 0 done, 2 usage, 3 nothing readable, 4 data loss under ``--strict``,
        5 a threshold was missed, 6 out of memory or output not written, 129 hung up, 130 interrupted,
        141 the reader of the output went away, 143 terminated.
    """
    if arguments is None:
        _streams()
        from multitracer.cli.limited import watched

        ended = watched(sys.argv[1:], NO_ROOM, _NO_MEMORY, _OUT_OF_MEMORY)
        if ended is not None:
            with contextlib.suppress(OSError):
                os.write(2, ended[1])
            return ended[0]
        _tune()
    try:
        status = group.main(
            args=None if arguments is None else list(arguments),
            prog_name="multitracer",
            standalone_mode=False,
        )
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return USAGE
    except MultiTracerError as error:
        say(f"multitracer: error: {error}", err=True)
        return exit_status(error)
    except (click.Abort, KeyboardInterrupt):
        say("multitracer: interrupted", err=True)
        return INTERRUPTED
    except MemoryError:
        return _out_of_memory()
    except ModuleNotFoundError as error:
        lacking = (error.name or "").partition(".")[0]
        if lacking in ("", "multitracer"):
            raise
        say(f"multitracer: error: this needs {lacking}: pip install {lacking}", err=True)
        return USAGE
    except OSError as error:
        if _is_no_memory(error):
            return _out_of_memory()
        _give_up_output()
        say(f"multitracer: error: {_named(error)}: {error.strerror or error}", err=True)
        return NO_ROOM
    except _Ended as ended:
        say(f"multitracer: ended by {ended.name}", err=True)
        return ended.status
    except _PipeClosed:
        _give_up_output()
        return PIPE_CLOSED
    except BaseException as error:
        if arguments is None and _is_no_memory(error):
            return _out_of_memory()
        raise
    finally:
        if arguments is None:
            # The process ends here: what is left goes with it, and need not be searched for cycles before.
            gc.freeze()


_BY_SIGNAL = 128
"""A larger status is that of a signal."""


def program() -> NoReturn:
    """The command: `main`, and the end of the process.

    The system frees all memory at once. The interpreter would first clear every object away, which takes
    longer than to load click; what is to be done at the end is done, unless threads are still at work. Those
    of a command that a signal ended, or whose reader went away, are not waited for: one may wait for a lock
    that the signal left behind.
    """
    status = main()
    threading = sys.modules.get("threading")
    if threading is None or threading.active_count() == 1 or status > _BY_SIGNAL:
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            sys.exit(status)  # the interpreter reports what is wrong
        os._exit(status)
    sys.exit(status)


class _Ended(BaseException):
    """SIGTERM or SIGHUP: what was begun is cleared away, as at Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.status = _BY_SIGNAL + number


def _end(number: int, _frame: FrameType | None) -> None:
    raise _Ended(number)


_NO_MEMORY = (
    "out of memory",
    "cannot allocate memory",
    "failed to map segment",
    "array api capsule",
    "unicodedata module",
    "can't start new thread",
    "without exception set",
    "without setting an exception",
    "memory allocation",
    "bad_alloc",
    "codec configuration error",
)
"""The message where a library is not loaded, a thread not started, an image not written: no memory."""


def _is_no_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, comes from too little memory."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or any(words in str(error).lower() for words in _NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _without_memory(unraisable: sys.UnraisableHookArgs) -> None:
    """Print what a library could not raise, unless it is that there is no memory: that is reported once."""
    if not _is_no_memory(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


_OUT_OF_MEMORY = "multitracer: error: out of memory; see --summary, or cut the capture (editcap -c)"


def _out_of_memory() -> int:
    say(_OUT_OF_MEMORY, err=True)
    return NO_ROOM


def _named(error: OSError) -> str:
    return str(error.filename) if error.filename is not None else "standard output"


def _give_up_output() -> None:
    """What is still buffered cannot be written: without this the interpreter complains at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass  # not a stream of the system's
    finally:
        os.close(nowhere)


class _Closed(io.TextIOBase):
    """Standard output that was closed before we began: to write nothing to it is no fault."""

    @property
    def buffer(self) -> _Closed:
        """For those who write bytes."""
        return self

    def write(self, _data: object) -> int:
        """Fail, as a write to the system's would."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _streams() -> None:
    """Standard streams that take any name, and that are there."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            # No file that is opened later takes its place.
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            if number == 1:
                sys.stdout = _Closed()
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tune() -> None:
    """Settings of a process that is ours alone."""
    sys.unraisablehook = _without_memory
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # not under nohup
            signal.signal(number, _end)
    without_help()
    # Starting a thread for every processor takes longer than all the linear algebra here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
