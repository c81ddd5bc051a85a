"""What the analysis tells of losses, against what the lab's link recorded itself.

Usage: python check.py RUNS SUMMARY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from multitracer.batch.comparison import read_summary

HEADERS = 40


def lost_data(truth: dict[str, Any]) -> tuple[int, int]:
    """Packets with data that the sender's queue dropped, and that the radio gave up."""
    dropped = int(truth.get("queue_drops", (0, 0))[0])
    given_up = [one for one in truth["events"] if one["what"] == "packet_lost" and one["side"] == 0]
    return dropped, sum(one["length"] > HEADERS for one in given_up)


def main() -> None:
    """Print sums and the runs that differ."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = read_summary(sys.argv[2], Path(sys.argv[2]).read_bytes())
    lost = [0, 0]
    drops = [0, 0]
    differ: dict[str, list[str]] = {"lost_segments": [], "local_drops": []}
    for row in rows:
        truth = json.loads((Path(sys.argv[1]) / row["name"] / "truth.json").read_text())
        dropped, given_up = lost_data(truth)
        for name, pair, told, true in (
            ("lost_segments", lost, row["lost_segments"], dropped + given_up),
            ("local_drops", drops, row["local_drops"], dropped),
        ):
            pair[0] += told
            pair[1] += true
            if told != true:
                differ[name].append(f"  {row['name']}: {told} told, {true} true")
    for name, (told, true) in (("lost_segments", lost), ("local_drops", drops)):
        print(f"{name}: {told} told, {true} true; {len(differ[name])} of {len(rows)} runs differ")
        print("\n".join(differ[name]))


if __name__ == "__main__":
    main()
