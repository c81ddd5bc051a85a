"""The tutorial notebooks run, and what they hold is what they print.

`pytest tests/report/test_notebooks.py --update-golden` stores their outputs anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support_samples import PATIENCE_S

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NAMES = ("first_look", "why_is_it_slow", "compare_a_fleet", "study")
MOST_BYTES = 400_000


def executed(path: Path) -> Any:
    """A notebook, run from the top in its own folder, without what differs from run to run."""
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(FOLDER)}}, record_timing=False
    )
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # The address of a figure in memory says nothing and differs each time.
            if "text/plain" in output.get("data", {}) and "image/png" in output["data"]:
                output["data"]["text/plain"] = "<Figure>"
    notebook.metadata.pop("language_info", None)
    return notebook


def told(notebook: Any) -> list[str]:
    """What the cells print, as text; pictures as the word for them."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            text = output.get("text") or output["data"]["text/plain"]
            found.append(re.sub(r"0x[0-9a-f]+", "0x", "".join(text)))
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs_and_prints_what_it_holds(name: str, request: pytest.FixtureRequest) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    path = FOLDER / f"{name}.ipynb"
    fresh = executed(path)
    if request.config.getoption("--update-golden"):
        nbformat.write(fresh, path)
    stored = nbformat.read(path, as_version=4)
    assert told(fresh) == told(stored)
    assert len(told(stored)) >= 5
    assert path.stat().st_size < MOST_BYTES


def test_all_notebooks_are_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)
