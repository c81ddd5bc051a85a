"""A queueing discipline of the kernel on a device of a run, and the drops that it counted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from multitracer.lab.netns import Namespace
from multitracer.lab.requirements import LabError
from multitracer.lab.settings import QdiscSettings


class Qdisc:
    """The queue of one device.

    Parameters
    ----------
    namespace : Namespace
    device : str
    settings : QdiscSettings
        Of a kind that is not "".

    Raises
    ------
    LabError
        With tc's own words; a kernel without the discipline ends here.
    """

    def __init__(self, namespace: Namespace, device: str, settings: QdiscSettings) -> None:
        self._namespace, self._device, self.settings = namespace, device, settings
        for command in commands(device, settings):
            self._tc(command)

    def truth(self) -> dict[str, Any]:
        """Where it was, packets it dropped, and tc's statistics of each part."""
        said: list[dict[str, Any]] = json.loads(
            self._tc(["-s", "-j", "qdisc", "show", "dev", self._device]) or "[]"
        )
        # The root counts what its children drop as well.
        root = next((part for part in said if part.get("root")), {})
        return {
            "at": self.settings.at,
            "kind": self.settings.kind,
            "rate_bps": self.settings.rate_bps,
            "limit_bytes": self.settings.limit_bytes,
            "drops": int(root.get("drops", 0)),
            "tc": said,
        }

    def _tc(self, words: Sequence[str]) -> str:
        with self._namespace.entered():
            done = subprocess.run(["tc", *words], capture_output=True, text=True)
        if done.returncode:
            raise LabError(
                f"tc {' '.join(words)}: {done.stderr.strip() or done.returncode}; "
                f"this kernel may lack {self.settings.kind}"
            )
        return done.stdout


def commands(device: str, settings: QdiscSettings) -> list[list[str]]:
    """The arguments of ``tc`` that set the queue up."""
    rate = f"{round(settings.rate_bps)}bit"
    limit, burst = str(settings.limit_bytes), str(settings.burst_bytes)
    root = ["qdisc", "add", "dev", device, "root", "handle", "1:"]
    if settings.kind == "tbf":
        return [[*root, "tbf", "rate", rate, "burst", burst, "limit", limit]]
    one = f"rate {rate} ceil {rate} burst {burst} cburst {burst}"
    below = ["bfifo", "limit", limit]
    if settings.kind == "fq_codel":
        below = ["fq_codel", "memory_limit", limit]
    return [
        [*root, "htb", "default", "1"],
        f"class add dev {device} parent 1: classid 1:1 htb {one}".split(),
        ["qdisc", "add", "dev", device, "parent", "1:1", "handle", "10:", *below],
    ]
