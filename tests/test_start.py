"""What a start costs is what it loads: the modules that summing up one large capture does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support_samples import PATIENCE_S

NEVER = {
    "asyncio",
    "email",
    "importlib.metadata",
    "logging",
    "numpy",
    "pandas",
    "rich",
    "socket",
    "subprocess",
    "tempfile",
    "tomllib",
    "unittest",
    "zipfile",
}
"""Libraries that take milliseconds, or more; `json` reads what the core tells of single connections."""

NOT_OF_OURS = {
    "multitracer.alignment.assemble",
    "multitracer.alignment.clocks",
    "multitracer.layers.framemap",
    "multitracer.model.linktype",
    "multitracer.model.schema",
    "multitracer.parsers._helpers.tcptables",
    "multitracer.layers.tcp",
    "multitracer.parsers.rlc",
    "multitracer.parsers.wifi",
}
"""Of the package: what knows of tables, links, or several sources."""


JOINING = {
    "multitracer.alignment.capturejoin",
    "multitracer.alignment.captures",
    "multitracer.alignment.clocks.fitting",
    "multitracer.alignment.joining",
    "multitracer.alignment.kernelcauses",
    "multitracer.alignment.translated",
    "multitracer.alignment.ways",
}
"""What puts two sources on one timeline."""


def loaded(words: list[str]) -> set[str]:
    code = (
        f"from multitracer.cli.main import main\nassert main({words!r}) == 0\n"
        "import sys\nsys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nsys.path = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return set(done.stderr.split())


def test_a_capture_is_summed_up_with_little(samples: Path) -> None:
    found = loaded(["analyze", "--json", "--summary", str(samples / "flow-control" / "snd.pcap")])
    assert "multitracer.parsers.pcap" in found
    assert not found & (NEVER | NOT_OF_OURS)


def test_help_loads_no_table() -> None:
    found = loaded(["--help"])
    assert "multitracer.cli.events" in found
    assert not found & ({*NEVER, "json"} | NOT_OF_OURS | {"multitracer._core"})


def test_a_lone_capture_is_joined_to_nothing(samples: Path) -> None:
    found = loaded(["analyze", "--json", "--full", str(samples / "flow-control" / "snd.pcap")])
    assert "multitracer.alignment.finish" in found
    assert not found & ((NEVER - {"numpy"}) | JOINING)
