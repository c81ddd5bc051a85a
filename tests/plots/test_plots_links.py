"""Figures of the air and of a radio bearer, below TCP's data; and of hardly any data at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import support_wifi as wifi
from support_lab import SECOND, tcp
from support_rlc import download, raw_pcap, record

import multitracer as mt
from multitracer import registry
from multitracer.model.errors import UsageError
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Figure
from multitracer.plots.plot import PlotOptions, Subject, build

LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "loss_bad": 0.9}
BEARER = {"air": LOSSY, "max_retransmissions": 1000, "tti_ms": 5, "pdus_per_tti": 8, "payload_bytes": 200}


def figure(kind: str, m: mt.Measurement) -> Figure:
    subject = Subject("", m, mt.analyze(m).results)
    return build(registry.load(registry.PLOTS[kind]), [subject], PlotOptions())


def drawn(found: Figure, folder: Path) -> int:
    path = folder / "picture.png"
    mpl.draw(found, path, size=(8.0, 5.0), dpi=50.0)
    return path.stat().st_size


def test_attempts_and_shares_of_the_air(tmp_path: Path) -> None:
    m = mt.read(wifi.capture(tmp_path / "wifi.pcap", wifi.conversation()))
    found = figure("air", m)
    assert [panel.name for panel in found.panels] == ["transfer", "air", "attempt"]
    radio = m.table("link_radio")
    mine = radio.where(radio["entity"] == m.entities.index("sta"))
    first, again = found.panel("attempt").series
    assert (len(first.x), len(again.x)) == (
        np.count_nonzero(mine["attempt"] == 0),
        np.count_nonzero(mine["attempt"] > 0),
    )
    assert set(first.y.tolist()) == {1.0}
    assert again.y.tolist() == (mine["attempt"][mine["attempt"] > 0] + 1).tolist()
    heard = m.table("link_air")
    (own,) = (one for one in found.panel("air").series if one.name == "own")
    step = float(own.x[1] - own.x[0])
    assert own.y.sum() / 100 * step == pytest.approx(heard["own_ns"].sum() / 1e9, rel=1e-6)
    assert drawn(found, tmp_path) > 2000


def test_a_bearer_below_its_transfer(tmp_path: Path) -> None:
    packets = download(2)
    outcome, log, capture = record(tmp_path, BEARER, packets, 2)
    log.unlink()
    came = [(one.t_ns + 200_000, one.packet) for one in outcome.deliveries if one.side == 1]
    sent = [(t_ns, data) for t_ns, side, data in packets if side == 1]
    (tmp_path / "snd.pcap").write_bytes(raw_pcap(sent + came, 0))
    m = mt.read(tmp_path / "snd.pcap", capture)
    found = figure("bearer", m)
    assert [panel.name for panel in found.panels] == ["transfer", "polls", "reorderings"]
    waits = sorted(
        (one["t_ns"] - one["opened_ns"]) / 1e6
        for one in outcome.link.truth.events
        if one["what"] == "gap_filled" and one["side"] == 0
    )
    (down,) = (one for one in found.panel("reorderings").series if one.label == "bs to ue")
    assert sorted(down.y.tolist()) == pytest.approx(waits)
    assert drawn(found, tmp_path) > 2000


@pytest.mark.parametrize("kind", ["air", "bearer"])
def test_other_links_have_no_such_figure(kind: str, samples: Path) -> None:
    with pytest.raises(UsageError, match="nothing to show: needs a capture"):
        figure(kind, mt.read(samples / "link-burst"))


def test_one_data_segment_and_no_ack_is_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(raw_pcap([(SECOND, tcp(1, 1, bytes(605)))], 0))
    assert drawn(figure("multilayer", mt.read(path)), tmp_path) > 2000


def test_numbers_of_many_digits_leave_room_for_the_words_beside_them(samples: Path) -> None:
    found = figure("multilayer", mt.read(samples / "bbr"))
    wide = PlotOptions(offset_bytes=10_000_000)
    m = mt.read(samples / "bbr")
    shifted = build(registry.load(registry.PLOTS["multilayer"]), [Subject("", m, {})], wide)
    lefts = [mpl.draw(one).axes[0].get_position().x0 for one in (found, shifted)]
    assert lefts[1] > lefts[0]
