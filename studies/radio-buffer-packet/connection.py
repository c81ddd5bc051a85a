"""The connection with packets of 552 bytes that stood still longest: its round trips and sequence numbers.

Usage: python connection.py RUNS

Writes docs/studies/radio-buffer-packet-connection-*.png and prints what it lost to which losses.
"""

from __future__ import annotations

import sys
from pathlib import Path

import multitracer as mt
from multitracer.plots import plot
from multitracer.plots.mpl import renderer as mpl
from multitracer.registry import plots

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "studies"
KINDS = ("rtt", "tsg")


def main() -> None:
    """Choose, draw, tell."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    runs = sorted(Path(sys.argv[1]).glob("radio_*network.mtu-bytes=552*"))
    found = [(mt.analyze(mt.read(run)), run.name) for run in runs]
    analysis, name = max(found, key=lambda one: (one[0].idle_losses["after_losses"]["share"], one[1]))
    subject = plot.Subject("", analysis.measurement, analysis.results)
    for kind in KINDS:
        figure = plot.build(plots()[kind], [subject], plot.PlotOptions())
        mpl.draw(figure, FOLDER / f"radio-buffer-packet-connection-{kind}.png", size=(10.0, 5.6), dpi=80.0)
    told = analysis.idle_losses
    print(name, told["after_losses"], told["segments"], told["lost"], sep="\n")
    print(analysis["connections"]["connections"][0]["timeouts"]["total"], "timeouts")
    print(analysis.rtt_deviation["connections"][0])


if __name__ == "__main__":
    main()
