"""The entry point: a group whose commands are loaded when used, and every error as one line."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from multitracer.cli.common import INTERRUPTED, PIPE_CLOSED, USAGE, exit_status
from multitracer.model.errors import MultiTracerError

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
    "export": "multitracer.cli.export:command",
    "lab": "multitracer.cli.lab:command",
    "formats": "multitracer.cli.formats:command",
}


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

        click.echo(f"multitracer {multitracer.__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done; 2 usage; 3 nothing readable; 4 data loss (--strict); 5 threshold missed.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
)
def group() -> None:
    """Say why a TCP transfer was slow.

    MultiTracer puts packet captures, kernel TCP logs and link-layer logs of one transfer on one timeline and
    explains what it sees: throughput, utilization, retransmissions by cause, spurious timeouts, link resets.

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
        5 a threshold was missed, 130 interrupted, 141 the reader of the output went away.
    """
    if arguments is None:
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
        click.echo(f"multitracer: error: {error}", err=True)
        return exit_status(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("multitracer: interrupted", err=True)
        return INTERRUPTED
    except _PipeClosed:
        # What is still buffered has no reader: without this the interpreter complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    finally:
        if arguments is None:
            # The process ends here: what is left goes with it, and need not be searched for cycles before.
            gc.freeze()


def _tune() -> None:
    """Settings of a process that is ours alone, which together take a fifth off its start and its end."""
    gc.set_threshold(100_000, 50, 50)
    # Starting a thread for every processor takes longer than all the linear algebra here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
