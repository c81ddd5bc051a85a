"""The same issue of several files is one line on the terminal, with the count of each; JSON has each."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from support_samples import SAMPLES

from multitracer.cli.main import group


def test_one_line_for_the_same_issue_of_two_captures(tmp_path: Path) -> None:
    for name in ("snd.pcap", "rcv.pcap"):
        content = (SAMPLES / "link-resets-vj" / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-7])
    said = CliRunner().invoke(group, ["info", str(tmp_path)], env={"COLUMNS": "120"})
    assert said.exit_code == 0
    lines = said.output.splitlines()
    (told,) = [line for line in lines if "bad-tcp-checksum" in line]
    assert told.startswith("warning: rcv.pcap (22 times), snd.pcap: bad-tcp-checksum: ")
    # What is said of the two files is not the same: a line each, with its record.
    cut = [line.split(": ")[1] for line in lines if "truncated-file" in line]
    assert cut == ["rcv.pcap, record 452", "snd.pcap, record 449"]
