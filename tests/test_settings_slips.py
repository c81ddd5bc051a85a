"""measurement.toml: what is written wrongly ends in one line that names key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_samples import SAMPLES

from multitracer.cli.main import main


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[parameters]\na = " + "[" * 5000, "too deep"),
        ("[parameters]\nseed = " + "9" * 5000, "thousands of digits"),
        ('[sources."snd.pcap"]\nclock_offset_s = -1e10', "clock_offset_s must be"),
        ('[sources."snd.pcap"]\nclock_offset_s = 99999999999999999999999999', "clock_offset_s must be"),
        ('[sources."snd.pcap"]\nclock_offset_s = nan', "clock_offset_s is nan"),
        ('[sources."snd.pcap"]\nclock_skew_ppm = 1e9', "clock_skew_ppm must be"),
        ('[sources."snd.pcap"]\nclock_uncertainty_s = inf', "clock_uncertainty_s is inf"),
        ('[sources."snd.pcap"]\nclock_ofset_s = 1', "did you mean 'clock_offset_s'"),
        ('[sources."snd.pcap"]\nclock = "realtme"', "did you mean 'realtime'"),
        ('[sources."snd.pcp"]\npoint = "snd"', "did you mean 'snd.pcap'"),
        ('[source."snd.pcap"]\npoint = "snd"', "did you mean 'sources'"),
        ("[parametres]\na = 1", "did you mean 'parameters'"),
        ("a = \x00", "not valid TOML"),
    ],
)
def test_one_line(text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "snd.pcap").write_bytes((SAMPLES / "backoff" / "snd.pcap").read_bytes())
    (tmp_path / "measurement.toml").write_text(text)
    assert main(["analyze", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "measurement.toml" in line
    assert told in line


def test_what_is_like_nothing_known_is_its_owners(tmp_path: Path) -> None:
    (tmp_path / "snd.pcap").write_bytes((SAMPLES / "backoff" / "snd.pcap").read_bytes())
    (tmp_path / "measurement.toml").write_text(
        'room = "B12"\n[sources."snd.pcap"]\nantenna = 4\n[weather]\nrain = 1\n'
    )
    assert main(["info", str(tmp_path), "--json"]) == 0
