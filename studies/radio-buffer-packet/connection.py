"""The connection with packets of 552 bytes that was idle longest after losses: its RTTs and sequence numbers.

Usage: python connection.py RUNS

Chosen by the kept summary. Writes docs/studies/radio-buffer-packet-connection-*.png and prints its losses and
timeouts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import multitracer as mt
from multitracer.plots import plot
from multitracer.plots.mpl import renderer as mpl
from multitracer.registry import plots

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from published import FOLDER, Row, kept, where

KINDS = ("rtt", "tsg")


def chosen() -> Row:
    """Its row of the summary."""
    alike = where(kept("radio-buffer-packet"), **{"air": "radio", "network.mtu_bytes": 552})
    return max(alike, key=lambda row: float(row["idle_after_losses_share"]))


def main() -> None:
    """Draw and print."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    name = str(chosen()["name"])
    analysis = mt.analyze(mt.read(Path(sys.argv[1]) / name))
    subject = plot.Subject("", analysis.measurement, analysis.results)
    for kind in KINDS:
        figure = plot.build(plots()[kind], [subject], plot.PlotOptions())
        mpl.draw(figure, FOLDER / f"radio-buffer-packet-connection-{kind}.png", size=(10.0, 5.6), dpi=80.0)
    told = analysis.idle_losses
    print(name, told["after_losses"], told["segments"], told["lost"], sep="\n")
    for one in analysis["connections"]["connections"]:
        print(one["timeouts"]["total"], "timeouts")
    print(analysis.rtt_deviation["connections"][0])


if __name__ == "__main__":
    main()
