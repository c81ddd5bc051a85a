"""The manual page multitracer(1) and the shell completions, written from the commands themselves: `make man`.

They stand in packaging/data/, from where a wheel takes what it installs beside the package.

python scripts/man.py
man packaging/data/data/share/man/man1/multitracer.1
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

ROOT = Path(__file__).resolve().parent.parent
SHARE = ROOT / "packaging" / "data" / "data" / "share"
"""What lies here is installed below the prefix's share/ (pyproject.toml, `tool.maturin.data`)."""

COMPLETIONS = {
    "bash": "bash-completion/completions/multitracer",
    "zsh": "zsh/site-functions/_multitracer",
    "fish": "fish/vendor_completions.d/multitracer.fish",
}
"""Where each shell looks for completions, below share/."""


def escaped(text: str) -> str:
    """Text as roff takes it: nothing in it is a request, hyphens can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def paragraphs(text: str) -> Iterator[str]:
    """A help text: paragraphs are filled, blocks behind a backspace are kept as they stand."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.split("\n")]
        if lines[0] == "\b":
            yield "\n".join([".PP", ".nf", ".RS 4", *map(escaped, lines[1:]), ".RE", ".fi"])
        else:
            yield ".PP\n" + escaped(" ".join(lines))


def options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """The options of a command with what they say of themselves."""
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            names, text = record
            yield f".TP\n.B {escaped(names)}\n{escaped(text)}"


def sections(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """A command and the commands below it."""
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f".SS {escaped(ctx.command_path)}\n.B {escaped(ctx.command_path)}\n{escaped(usage)}"
    yield from paragraphs(command.help or command.short_help or "")
    yield from options(command, ctx)
    if isinstance(command, click.Group):
        yield from below(command, ctx)


def below(group: click.Group, ctx: click.Context) -> Iterator[str]:
    """The sections of all commands of a group."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is not None and not command.hidden:
            yield from sections(command, click.Context(command, info_name=name, parent=ctx))


def variables() -> Iterator[str]:
    """Variables of the environment, from the table of docs/install.md."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for name, meaning in re.findall(r"^\| `([A-Z_]+)` \| (.+) \|$", text, re.MULTILINE):
        yield f".TP\n{escaped(name)}\n{escaped(meaning)}"


def page(group: click.Group, version: str) -> str:
    """The whole page."""
    ctx = click.Context(group, info_name="multitracer", **group.context_settings)
    first, *rest = paragraphs(group.help or "")
    parts = [
        f'.TH MULTITRACER 1 "" "MultiTracer {version}" "User Commands"',
        f".SH NAME\nmultitracer \\- {escaped('explain why a TCP transfer was slow')}",
        ".SH SYNOPSIS\n.B multitracer\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]...",
        ".SH DESCRIPTION",
        first,
        *rest,
        ".SH OPTIONS",
        *options(group, ctx),
        ".SH COMMANDS",
        *below(group, ctx),
        ".SH EXIT STATUS",
        *paragraphs((group.epilog or "").removeprefix("Exit status: ")),
        ".SH ENVIRONMENT",
        ".PP\nVariables can set options: MULTITRACER_BATCH_PROCESSES=4 means \\-\\-processes 4 of batch.",
        *variables(),
        ".SH SEE ALSO\n.BR tcpdump (8),\n.BR tshark (1),\n.BR ss (8)",
    ]
    return "\n".join(parts) + "\n"


def completion(group: click.Group, shell: str) -> str:
    """The completion script of a shell, as `multitracer completion` prints it."""
    maker = get_completion_class(shell)
    assert maker is not None  # click has these three
    return maker(group, {}, "multitracer", "_MULTITRACER_COMPLETE").source().rstrip("\n") + "\n"


def files(group: click.Group, version: str) -> dict[Path, str]:
    """Every file below share/ with its text."""
    found = {SHARE / "man" / "man1" / "multitracer.1": page(group, version)}
    return found | {SHARE / path: completion(group, shell) for shell, path in COMPLETIONS.items()}


def main() -> None:
    """Write them all."""
    sys.path.insert(0, str(ROOT))
    import multitracer
    from multitracer.cli.main import group

    for path, text in files(group, multitracer.__version__).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"man: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
