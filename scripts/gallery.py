"""Draw the pictures of docs/gallery.md and README.md from the sample measurements, small enough to keep.

Usage: python scripts/gallery.py [NAME ...] [--wifi DIR] [--rlc DIR]

The pictures of other links are drawn only if the directories of their lab runs are given (docs/gallery.md has
the commands).
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from PIL import Image

import multitracer as mt
from multitracer import registry
from multitracer.batch.comparison import read_summary
from multitracer.batch.study import pivot
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.plot import PlotOptions, Subject, build

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_traces"
TARGET = ROOT / "docs" / "images" / "gallery"
ELSEWHERE = {"multilayer": TARGET.parent / "link-resets-vj.png"}
"""The picture of README.md."""
COLORS = 192
SIZE = (13.0, 8.0)
ALL = tuple(sorted(path.parent.name for path in SAMPLES.glob("*/snd.pcap*")))
SETS = {
    "rlp": tuple(name for name in ALL if name != "bbr"),  # its link is a thousand times as fast
    "link-*": tuple(name for name in ALL if name.startswith("link-")),
}
PICTURES: dict[str, tuple[str, dict[str, float]]] = {
    "multilayer": ("link-resets-vj", {}),
    "sender": ("local-drops", {}),
    "layer-rates": ("flow-control", {}),
    "utilization": ("rlp", {}),
    "local-drop": ("local-drops", {}),
    "reset-gaps": ("link-resets-vj", {}),
    "corrupted-segments": ("link-resets-vj", {}),
    "rto-backoff": ("backoff", {}),
    "link-burst": ("link-resets-sack", {}),
    "flow-control": ("flow-control", {}),
    "tsg": ("local-drops", {"from_s": 0.0, "to_s": 16.0}),
    "rtt": ("link-resets-vj", {}),
    "cwnd": ("link-resets-vj", {}),
    "throughput": ("link-resets-vj", {}),
    "queue": ("local-drops", {}),
    "owd": ("link-resets-vj", {}),
    "layers": ("local-drops", {}),
    "host": ("host-queue", {}),
    "idle": ("link-resets-vj", {}),
    "logs": ("link-resets-sack/ss.log.gz", {}),
    "cdf": ("link-*", {}),
    "compare": ("link-*", {}),
}
# Of lab runs that are not kept: run, figure, window.
OTHER_LINKS: dict[str, tuple[str, str, dict[str, float]]] = {
    "wifi-retries": ("wifi", "multilayer", {"from_s": 1.5, "to_s": 4.0}),
    "wifi-air": ("wifi", "air", {}),
    "rlc-handover": ("rlc", "multilayer", {"from_s": 1.6, "to_s": 3.2}),
    "rlc-bearer": ("rlc", "bearer", {}),
}
# Charts of studies, out of the summaries in docs/studies: file, metric, rows, columns, which runs (a|b: any).
PIVOTS: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "pivot-window-mtu": ("grid", "goodput_bps", "flow.0.rcvbuf_bytes", "network.mtu_bytes", {}),
    "pivot-window-queue": ("grid", "rtt_mean_ms", "flow.0.rcvbuf_bytes", "link.queue_packets", {}),
    "pivot-energy": (
        "manet-tcp",
        "energy_j_per_mbit",
        "loss",
        "rts",
        {"of": "frames", "hops": "one", "mtu": "1500", "loss": "0.01|0.05|0.1|burst"},
    ),
}


def main() -> None:
    """Draw them all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures")
    parser.add_argument("--wifi", metavar="DIR", help="a run of the scenario wifi-arq")
    parser.add_argument("--rlc", metavar="DIR", help="a run of the scenario rlc-handover")
    arguments = parser.parse_args()
    wanted = arguments.names
    known = [*PICTURES, *OTHER_LINKS, *PIVOTS]
    if unknown := sorted(set(wanted) - set(known)):
        parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(known)}")
    pictures = {kind: PICTURES[kind] for kind in wanted or PICTURES if kind in PICTURES}
    needed = {one for name, _ in pictures.values() for one in SETS.get(name, (name,))}
    TARGET.mkdir(parents=True, exist_ok=True)
    found = {name: mt.analyze(mt.read(SAMPLES / name)) for name in sorted(needed)}
    total = 0
    for kind, (name, window) in pictures.items():
        shown = [Subject(one, found[one].measurement, found[one].results) for one in SETS.get(name, (name,))]
        figure = build(registry.load(registry.PLOTS[kind]), shown, PlotOptions(**window))
        total += save(kind, mpl.draw(figure, size=SIZE))
    links = [name for name in wanted or OTHER_LINKS if name in OTHER_LINKS]
    drawn = [name for name in links if getattr(arguments, OTHER_LINKS[name][0])]
    for name in drawn:
        run, kind, window = OTHER_LINKS[name]
        analysis = mt.analyze(mt.read(getattr(arguments, run)))
        subject = Subject(run, analysis.measurement, analysis.results)
        figure = build(registry.load(registry.PLOTS[kind]), [subject], PlotOptions(**window))
        total += save(name, mpl.draw(figure, size=SIZE))
    charts = [kind for kind in wanted or PIVOTS if kind in PIVOTS]
    total += sum(save(kind, chart(*PIVOTS[kind])) for kind in charts)
    count = len(pictures) + len(drawn) + len(charts)
    print(f"{count} pictures, {total / 1e6:.2f} MB in {TARGET.relative_to(ROOT)}")


def chart(study: str, metric: str, rows: str, columns: str, only: dict[str, str]) -> Any:
    """A chart over two parameters of a kept study."""
    path = ROOT / "docs" / "studies" / f"{study}.csv"
    kept = read_summary(str(path), path.read_bytes())
    counted = [row for row in kept if all(str(row[name]) in value.split("|") for name, value in only.items())]
    return pivot(counted, metric, rows, columns).plot()


def save(kind: str, figure: Any) -> int:
    """Write a picture with few colours; its size in bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    picture = (
        Image.open(buffer)
        .convert("RGB")
        .quantize(COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    path = ELSEWHERE.get(kind, TARGET / f"{kind}.png")
    picture.save(path, optimize=True)
    return path.stat().st_size


if __name__ == "__main__":
    main()
