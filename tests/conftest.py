"""What tests share: where real traces are, and the flag that rewrites golden files."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase, ReadOnlyDatabase
from support_samples import SAMPLE_NAMES, SAMPLES, Run, command

# The tests try the same cases every time, wherever they run. `make explore` looks for new ones (CASES=new).
# What fails is kept in tests/found/, which belongs to the repository: `make test` tries that again, mended or
# not (CASES=kept). Nothing is judged by the clock: a busy machine takes a second for what takes less.
_FOUND = DirectoryBasedExampleDatabase(Path(__file__).parent / "found")
_CASES: dict[str, dict[str, Any]] = {
    "": {"derandomize": True},
    "new": {
        "derandomize": False,
        "database": _FOUND,
        "phases": (Phase.explicit, Phase.generate, Phase.target, Phase.shrink),
    },
    "kept": {
        "derandomize": False,
        "database": ReadOnlyDatabase(_FOUND),
        "phases": (Phase.explicit, Phase.reuse),
    },
}
_PROFILE = os.environ.get("CASES", "")
settings.register_profile(
    "cases",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    **_CASES[_PROFILE],
)
settings.load_profile("cases")


# How wide and how colourful the terminal of whoever starts the tests is changes nothing.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)

# What a shell runs in its background ignores Ctrl-C, and so would every process of these tests.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What `make check` leaves out: files that run processes, the kernel, a browser, notebooks or tshark, or whose
# tests take more than 5 s together on two cores (`make test DURATIONS=0`). Single tests are marked slow.
SLOW = (
    "analyzers/test_any_table.py",
    "batch/",
    "crosslayer/test_subsets.py",
    "export/",
    "lab/test_interfaces_run.py",
    "lab/test_lab_rlp.py",
    "lab/test_replay_run.py",
    "lab/test_runner.py",
    "plots/test_plots_appearance.py",
    "plots/test_plots_experts.py",
    "plots/test_plots_mpl.py",
    "plots/test_plots_samples.py",
    "record/test_record.py",
    "report/test_notebooks.py",
    "report/test_report_hostile.py",
    "report/test_report_page.py",
    "report/test_report_views.py",
    "studies/",
    "test_capture_sources.py",
    "test_containers.py",
    "test_disagreements.py",
    "test_docs_site.py",
    "test_every_command.py",
    "test_follow.py",
    "test_output_streams.py",
    "test_readme.py",
    "test_rlc_layouts.py",
    "test_rlc_pair.py",
    "test_start.py",
    "test_streamed_json.py",
    "test_time_spans.py",
    "test_wifi.py",
    "test_wifi_air.py",
    "test_wifi_clocks.py",
)
_HERE = Path(__file__).parent


def _is_slow(path: Path) -> bool:
    return path.is_relative_to(_HERE) and str(path.relative_to(_HERE)).startswith(SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What `make check` leaves out is not even imported: it loads a cluster, a browser, notebooks."""
    left_out = config.getoption("markexpr") == "not slow" and collection_path.is_file()
    return True if left_out and _is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden/ from the present results"
    )


@pytest.fixture(scope="module")
def kernel_to_itself() -> Iterator[None]:
    """One module at a time that measures with the kernel: tracepoints name no namespace, and pointers return.

    Tests run in several processes (``-n``); the lock is of the system, and goes with its process.
    """
    path = Path(tempfile.gettempdir()) / f"multitracer-tests-{os.geteuid()}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def samples() -> Path:
    """The measurements of this repository."""
    return SAMPLES


@pytest.fixture(scope="session")
def shared() -> Path:
    """A folder with more real traces and files, outside of the repository."""
    folder = os.environ.get("MULTITRACER_SHARED")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MULTITRACER_SHARED does not name a folder with more real traces")
    return Path(folder)


@pytest.fixture(params=SAMPLE_NAMES)
def sample(request: pytest.FixtureRequest) -> Path:
    """Each of the five measurements in turn."""
    return SAMPLES / str(request.param)


@pytest.fixture(scope="session")
def analyzed() -> Callable[[str], dict[str, Any]]:
    """``analyzed(name)``: the JSON object of a sample, computed once a session."""
    import multitracer as mt

    done: dict[str, dict[str, Any]] = {}

    def analyze(name: str) -> dict[str, Any]:
        if name not in done:
            # Through text, so that what is compared is what a user gets.
            done[name] = json.loads(mt.analyze(mt.read(SAMPLES / name)).to_json())
        return done[name]

    return analyze


@pytest.fixture(scope="session")
def run() -> Run:
    """``run(*arguments)``: the command line, with its status and what it printed."""
    return command
