"""``python -m multitracer``: the command line."""

from __future__ import annotations

from multitracer.cli.main import program

program()
