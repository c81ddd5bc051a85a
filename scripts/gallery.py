"""Draw the pictures of docs/gallery.md from the sample measurements, small enough to keep.

Usage: python scripts/gallery.py [--backoff DIRECTORY]

The samples have no exponential backoff (Figure 10): its picture is drawn only if a measurement that has one
is named, as made by ``multitracer lab run figure-10-backoff --seed 2 -o DIRECTORY``.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image

import multitracer as mt
from multitracer import registry
from multitracer.plots import mpl
from multitracer.plots.plot import PlotOptions, Subject, build

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_traces"
TARGET = ROOT / "docs" / "images" / "gallery"
COLORS = 192
SIZE = (13.0, 8.0)
ALL = ("flow-control", "link-resets-sack", "link-resets-vj", "local-drops", "spurious-timeouts")
PICTURES: dict[str, tuple[str, dict[str, float]]] = {
    "figure-4": ("local-drops", {}),
    "figure-5": ("flow-control", {}),
    "figure-6": ("*", {}),
    "figure-7": ("local-drops", {}),
    "figure-8": ("link-resets-vj", {}),
    "figure-9": ("link-resets-vj", {}),
    "figure-11": ("link-resets-sack", {}),
    "figure-12": ("flow-control", {}),
    "tsg": ("local-drops", {"from_s": 0.0, "to_s": 16.0}),
    "rtt": ("link-resets-vj", {}),
    "cwnd": ("link-resets-vj", {}),
    "throughput": ("link-resets-vj", {}),
    "queue": ("local-drops", {}),
    "owd": ("link-resets-vj", {}),
    "layers": ("local-drops", {}),
    "idle": ("link-resets-vj", {}),
    "cdf": ("*", {}),
    "compare": ("*", {}),
}


def main() -> None:
    """Draw them all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backoff", type=Path, help="a measurement with exponential backoff")
    options = parser.parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    found = {name: mt.analyze(mt.read(SAMPLES / name)) for name in ALL}
    pictures = dict(PICTURES)
    if options.backoff is not None:
        found["backoff"] = mt.analyze(mt.read(options.backoff))
        pictures["figure-10"] = ("backoff", {})
    total = 0
    for kind, (name, window) in pictures.items():
        names = ALL if name == "*" else (name,)
        subjects = [Subject(one, found[one].measurement, found[one].results) for one in names]
        figure = build(registry.load(registry.PLOTS[kind]), subjects, PlotOptions(**window))
        buffer = io.BytesIO()
        mpl.draw(figure, size=SIZE).savefig(buffer, format="png")
        picture = (
            Image.open(buffer)
            .convert("RGB")
            .quantize(COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        )
        picture.save(TARGET / f"{kind}.png", optimize=True)
        total += (TARGET / f"{kind}.png").stat().st_size
    print(f"{len(pictures)} pictures, {total / 1e6:.2f} MB in {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
