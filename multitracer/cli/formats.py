"""``multitracer formats``: what can be read."""

from __future__ import annotations

import click

from multitracer.cli.common import json_option, print_json


@click.command(short_help="List the file formats.")
@json_option
def command(as_json: bool) -> None:
    """List the file formats that are recognised.

    The name is what `--format` takes. All of them may be compressed (gzip, zstd, xz, bzip2, lz4).

    \b
    multitracer formats
    multitracer formats --json
    """
    from multitracer import registry

    known = registry.parsers()
    if as_json:
        print_json(
            {
                "formats": [
                    {"name": parser.name, "layer": parser.layer, "title": parser.title, "page": parser.page}
                    for parser in known.values()
                ]
            }
        )
        return
    from multitracer.cli.files import formats_table

    formats_table(list(known.values()))
