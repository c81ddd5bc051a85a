"""What is read of each run, against what the agent of ns-2 counted itself.

Usage: python check.py RUNS SUMMARY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from multitracer.batch.comparison import read_summary


def main() -> None:
    """Print how many runs agree in bytes sent, sent again, and with new data."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = read_summary(sys.argv[2], Path(sys.argv[2]).read_bytes())
    agree = {"sent_bytes": 0, "duplicate_bytes": 0, "bytes": 0}
    for row in rows:
        totals = json.loads((Path(sys.argv[1]) / row["name"] / "totals.json").read_text())
        segment = row["mtu"] - 40
        agree["sent_bytes"] += row["sent_bytes"] == totals["ndatabytes_"]
        agree["duplicate_bytes"] += row["duplicate_bytes"] == totals["nrexmitbytes_"]
        agree["bytes"] += row["bytes"] == totals["maxseq_"] * segment
    for name, count in agree.items():
        print(f"{name}: equal in {count} of {len(rows)} runs")


if __name__ == "__main__":
    main()
