"""``python -m multitracer.lab.worker``: one run of a fleet as a process of its own.

Reads one JSON object (scenario, values, seed, out) from standard input, writes one JSON line per step and one
at the end. A signal ends the run cleanly.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from multitracer.model.errors import MultiTracerError


def main() -> int:
    """Run one job; 0 if the measurement was made."""
    from multitracer.lab.library import load
    from multitracer.lab.runner import Progress, run

    def step(progress: Progress) -> None:
        say(phase=progress.phase, received=progress.received_bytes, total=progress.total_bytes)

    try:
        job = json.loads(sys.stdin.read())
        result = run(load(job["scenario"], values=job["values"]), job["out"], job["seed"], step)
    except MultiTracerError as error:
        say(error=str(error))
        return 1
    except KeyboardInterrupt:
        say(error="interrupted")
        return 1
    say(done=True, seconds=result.seconds, warnings=result.warnings)
    return 0


def say(**facts: Any) -> None:
    """Print one JSON line; a reader that has ended is no reason to stop half-way."""
    try:
        print(json.dumps(facts), flush=True)
    except BrokenPipeError:
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115 - until the process ends


if __name__ == "__main__":
    sys.exit(main())
