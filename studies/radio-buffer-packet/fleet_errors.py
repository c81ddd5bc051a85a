"""Write the fleet in which long packets are lost more often: a radio that damages bytes, not packets.

Usage: python fleet_errors.py > fleet-errors.toml

An attempt of `length` bytes is lost with 1 - (1 - e)^length in the air's good state, for three shares e of
damaged bytes; everything else is packet-radio.toml. The buffer is 8 KB, the published optimum. The middle
share also with other traffic (packet-radio-cross.toml).
"""

from __future__ import annotations

import sys

PACKETS = (168, 296, 552, 1064, 1500)
SHARES = ("1e-4", "2e-4", "4e-4")
CROSS = "2e-4"
BUFFER_BYTES = 8192
SEEDS = {"1e-4": "1-6", "2e-4": "1-6", "4e-4": "1-20"}
"""Most of them where the peak over the packet size is to be shown: few do not tell its sides apart."""
FADES = {"kind": "gilbert_elliott", "loss_bad": 0.85, "p_good_to_bad": 0.02, "p_bad_to_good": 0.15}


def lost(share: float, length: int) -> float:
    """Probability that an attempt of `length` bytes is lost if each byte is with probability `share`."""
    return float(1 - (1 - share) ** length)


def block(label: str, scenario: str, share: str, length: int) -> str:
    """Runs of one packet size."""
    air = FADES | {"loss_good": round(lost(float(share), length), 4)}
    values = {f"link.air_up.{name}": value for name, value in air.items()}
    values |= {"network.mtu_bytes": length, "flow.0.rcvbuf_bytes": BUFFER_BYTES}
    words = [f'"{name}" = ' + (f'"{v}"' if isinstance(v, str) else str(v)) for name, v in values.items()]
    head = f'[[runs]]\nlabel = "{label}-{length}"\nscenario = "{scenario}"\nseeds = "{SEEDS[share]}"\n'
    return head + "\n[runs.set]\n" + "\n".join(words) + "\n"


def fleet(folder: str) -> str:
    """The whole fleet; scenarios are in `folder`."""
    blocks = [
        block(f"errors-{share}", f"{folder}packet-radio.toml", share, length)
        for share in SHARES
        for length in PACKETS
    ]
    blocks += [
        block(f"cross-errors-{CROSS}", f"{folder}packet-radio-cross.toml", CROSS, length)
        for length in PACKETS
    ]
    return "\n".join(blocks)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    print(fleet(sys.argv[1] if len(sys.argv) == 2 else ""))
