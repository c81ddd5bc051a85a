"""Small measurements for tests of batch: parts of the samples' captures and logs."""

from __future__ import annotations

import shutil
from pathlib import Path

from support_samples import SAMPLES

CAPTURES = ("snd.pcap", "rcv.pcap")


def fleet(root: Path, names: tuple[str, ...] = ("flow-control", "link-resets-vj", "local-drops")) -> Path:
    """Measurements of two captures each, with parameters in their names and files."""
    for number, name in enumerate(names):
        target = root / f"{name}_window={8 * (number + 1)}"
        target.mkdir(parents=True)
        for file in CAPTURES:
            shutil.copyfile(SAMPLES / name / file, target / file)
        (target / "measurement.toml").write_text(f"[parameters]\nmtu = {576 + number}\n", encoding="utf-8")
    return root


def tree(root: Path) -> dict[str, bytes]:
    """All files of an output by name."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }
