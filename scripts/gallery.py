"""Draw the pictures of docs/gallery.md from the sample measurements, small enough to keep.

Usage: python scripts/gallery.py [NAME ...]
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
ALL = tuple(sorted(path.parent.name for path in SAMPLES.glob("*/snd.pcap*")))
SETS = {
    "rlp": tuple(name for name in ALL if name != "bbr"),  # its link is a thousand times as fast
    "link-*": tuple(name for name in ALL if name.startswith("link-")),
}
PICTURES: dict[str, tuple[str, dict[str, float]]] = {
    "figure-4": ("local-drops", {}),
    "figure-5": ("flow-control", {}),
    "figure-6": ("rlp", {}),
    "figure-7": ("local-drops", {}),
    "figure-8": ("link-resets-vj", {}),
    "figure-9": ("link-resets-vj", {}),
    "figure-10": ("backoff", {}),
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
    "cdf": ("link-*", {}),
    "compare": ("link-*", {}),
}


def main() -> None:
    """Draw them all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures")
    wanted = parser.parse_args().names
    if unknown := sorted(set(wanted) - PICTURES.keys()):
        parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    pictures = {kind: PICTURES[kind] for kind in wanted or PICTURES}
    needed = {one for name, _ in pictures.values() for one in SETS.get(name, (name,))}
    TARGET.mkdir(parents=True, exist_ok=True)
    found = {name: mt.analyze(mt.read(SAMPLES / name)) for name in sorted(needed)}
    total = 0
    for kind, (name, window) in pictures.items():
        shown = [Subject(one, found[one].measurement, found[one].results) for one in SETS.get(name, (name,))]
        figure = build(registry.load(registry.PLOTS[kind]), shown, PlotOptions(**window))
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
