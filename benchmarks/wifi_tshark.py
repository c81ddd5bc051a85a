"""Hold the counts of Wi-Fi captures against tshark's.

    python benchmarks/wifi_tshark.py CAPTURE...

Frames by type and subtype, retries, block ACKs, deauthentications, and of the links that are listed the
transmissions and retries of data by transmitter. Prints a row a capture, then every difference.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from multitracer import native

_FIELDS = ("wlan.fc.type_subtype", "wlan.fc.retry", "wlan.ta", "wlan.ra")
_NAMES = {0x0C: "deauthentication", 0x19: "block ack"}


def main(arguments: list[str]) -> None:
    """Compare every capture named, and print."""
    print(
        "| capture | frames | kinds | retries | block ACKs | deauthentications | data sent, retries |"
        "\n|---|---|---|---|---|---|---|"
    )
    differences = []
    for path in map(Path, arguments):
        name = f"{path.parent.name}/{path.name}" if path.name == "wifi.pcap" else path.name
        ours, theirs = _ours(path), _theirs(path)
        pairs, links = theirs.pop("links"), ours.pop("links")
        for key, value in ours.items():
            if value != theirs[key]:
                differences.append(f"- {name}: {key}: {value}, tshark {theirs[key]}")
        shown = []
        for pair, found in sorted(links.items()):
            if found != pairs.get(pair, (0, 0)):
                differences.append(f"- {name}: data from {pair[0]}: {found}, tshark {pairs.get(pair)}")
            if found[0]:
                shown.append(f"{found[0]:,}, {found[1]:,}")
        counts = " | ".join(f"{ours[key]:,}" for key in ("frames", "kinds", "retries", "block ack"))
        print(f"| {name} | {counts} | {ours['deauthentication']:,} | {'; '.join(shown)} |", flush=True)
    print("\n".join(differences) or "\nNo differences.")


def _ours(path: Path) -> dict[str, Any]:
    facts = native.read_wifi(str(path)).facts
    kinds = facts["counts"]["kinds"]
    # Stations that move have several access points: only links without a move are held against addresses.
    links = {
        (link[side]["address"], link[1 - side]["address"]): (link[side]["sent"], link[side]["retries"])
        for link in facts["links"]
        for side in (0, 1)
        if not link["roams"]
    }
    return {
        "frames": sum(kinds.values()),
        "kinds": len(kinds),
        "retries": facts["counts"]["retries"],
        **{name: kinds.get(name, 0) for name in _NAMES.values()},
        "links": links,
    }


def _theirs(path: Path) -> dict[str, Any]:
    words = ["tshark", "-r", str(path), "-Y", "wlan", "-T", "fields", *(f"-e{field}" for field in _FIELDS)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    kinds = Counter(int(row[0].split(",")[0], 0) for row in rows)
    links: dict[tuple[str, str], tuple[int, int]] = {}
    for kind, retry, transmitter, receiver in rows:
        code = int(kind.split(",")[0], 0)
        # Data frames with data in them.
        if code >> 4 == 2 and not code & 4:
            sent, again = links.get((transmitter, receiver), (0, 0))
            links[transmitter, receiver] = sent + 1, again + (retry in ("1", "True"))
    return {
        "frames": sum(kinds.values()),
        "kinds": len(kinds),
        "retries": sum(row[1] in ("1", "True") for row in rows),
        **{name: kinds[code] for code, name in _NAMES.items()},
        "links": links,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
