"""The command line as a whole: names that are nearly right, completion, defaults from the environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support_samples import SAMPLES

from multitracer.cli.completion import SHELLS
from multitracer.cli.export import FORMATS, READERS
from multitracer.cli.main import COMMANDS, EXPECTED, main


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["analyse", "x"], "did you mean analyze?"),
        (["exprot"], "did you mean"),
        (["anonymise", "x"], "multitracer export CAPTURE --to pcap --anonymize -o OUT"),
        (["Diff"], "multitracer compare BEFORE AFTER"),
        (["export", "x", "--to", "wireshark", "-o", "y"], "for it: pcapng"),
        (["qqqq"], "there are record, doctor"),
        ([str(SAMPLES)], f"multitracer analyze {SAMPLES}"),
    ],
)
def test_a_name_that_is_no_command(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert hint in " ".join(capsys.readouterr().err.split())


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Installed without its dependencies, for `analyze` alone: what draws is not there.
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("multitracer.plots.mpl")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["plot", str(SAMPLES / "backoff"), "-o", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err == "multitracer: error: this needs matplotlib: pip install matplotlib\n"


def test_what_is_advised_exists() -> None:
    assert {words.split()[0] for words in EXPECTED.values()} <= set(COMMANDS)
    assert not set(EXPECTED) & set(COMMANDS)
    assert all(set(re.findall(r"\w+", words)) & set(FORMATS) for words in READERS.values())


def test_every_command_has_a_short_help_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in shown] == list(COMMANDS)
    assert not [line for line in shown if line.endswith("...")]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_MULTITRACER_COMPLETE" in capsys.readouterr().out


def test_the_program_completes() -> None:
    asked = {
        "_MULTITRACER_COMPLETE": "bash_complete",
        "COMP_WORDS": "multitracer analyze --min",
        "COMP_CWORD": "2",
    }
    program = Path(sys.executable).with_name("multitracer")
    found = subprocess.run([program], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60)
    assert found.stdout.split() == ["plain,--min-utilization"]


def test_defaults_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MULTITRACER_ANALYZE_MIN_UTILIZATION", "99")
    assert main(["analyze", str(SAMPLES / "link-resets-vj")]) == 5
    assert "threshold is 99%" in capsys.readouterr().err
    assert main(["analyze", str(SAMPLES / "link-resets-vj"), "--min-utilization", "10"]) == 0
