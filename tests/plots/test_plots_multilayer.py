"""The multi-layer plot as data: what is in its panels, and what it says when layers are missing."""

from __future__ import annotations

import numpy as np
import pytest
from support_plots import MSS, T0, measurement, results

from multitracer import registry
from multitracer.model.analysis import Result
from multitracer.model.errors import UsageError
from multitracer.model.idle import LAST_ACK
from multitracer.model.schema.results import LOCAL_DROPS
from multitracer.model.table import Table
from multitracer.plots.panel import Figure, Marks, Series, Spans
from multitracer.plots.plot import PlotOptions


def build(m=None, r=None, **options) -> Figure:
    plot = registry.load(registry.PLOTS["multilayer"])
    return plot.build(
        measurement() if m is None else m, results() if r is None else r, PlotOptions(**options)
    )


def series(figure: Figure, name: str) -> Series:
    return next(s for panel in figure.panels for s in panel.series if s.name == name)


def marks(figure: Figure, name: str) -> Marks:
    return next(m for panel in figure.panels for m in panel.marks if m.name == name)


def spans(figure: Figure, panel: str, name: str) -> Spans:
    return next(s for s in figure.panel(panel).spans if s.name == name)


def test_series_have_the_papers_names():
    names = {s.name for panel in build().panels for s in panel.series}
    assert {
        "TcpSnd_data",
        "TcpSnd_ack",
        "TcpRcv_data",
        "TcpRcv_ack",
        "TcpSnd_cwnd",
        "TcpSnd_ssthresh",
        "RlpSnd_data",
        "RlpSnd_rexmt",
    } <= names


@pytest.mark.parametrize("offset", [10_000, 0, 2_500])
def test_groups_are_moved_apart_by_the_offset(offset):
    figure = build(offset_bytes=offset)
    assert series(figure, "TcpRcv_data").y[0] == 1
    assert series(figure, "TcpSnd_data").y[0] == 1 + offset
    # The stream of the link had 1000 bytes behind it when the connection began: they are taken off.
    assert series(figure, "RlpSnd_data").y[0] == 2 * offset
    assert marks(figure, "timeout:genuine").y == pytest.approx([1 + MSS * 10 + offset])


def test_points_lead_back_to_their_records():
    data = series(build(), "TcpSnd_data")
    assert data.source == 0
    assert data.record is not None
    assert data.record[np.argmax(data.x == 15.5)] == 21


def test_link_retransmissions_are_apart_from_first_transmissions():
    figure = build(offset_bytes=0)
    assert series(figure, "RlpSnd_rexmt").x.tolist() == [9.0]
    assert series(figure, "RlpSnd_rexmt").y.tolist() == [24 * 290]
    assert len(series(figure, "RlpSnd_data").x) == 600


def test_windows_are_in_bytes():
    figure = build()
    assert series(figure, "TcpSnd_cwnd").y.tolist() == [MSS * n for n in range(2, 12)]
    assert series(figure, "TcpSnd_ssthresh").x.tolist() == [10.0, 12.0, 14.0, 16.0, 18.0]
    assert figure.panel("window").y.unit == "bytes"


def test_flight_grows_with_data_and_falls_with_acks():
    flight = series(build(), "TcpSnd_flight")
    at = dict(zip(np.round(flight.x, 3).tolist(), flight.y.tolist(), strict=True))
    assert at[0.0] == MSS + 1  # nothing is acknowledged yet, not even the SYN
    assert at[0.4] == 0
    assert at[19.0] == 10 * MSS


def test_zero_windows_are_marked_with_z():
    closed = marks(build(), "zero_window")
    assert closed.letter == "Z"
    assert closed.x.tolist() == [5.4]


def test_a_judged_timeout_shows_verdict_and_backoff_once():
    figure = build()
    timeout = marks(figure, "timeout:genuine")
    assert timeout.letter == "T"
    assert timeout.texts == ("2 × RTO",)
    assert "link: genuine" in timeout.details[0]
    assert not any(m.name == "retransmission:timeout" for m in figure.panel("sequence").marks)


def test_without_verdicts_the_retransmission_itself_is_marked():
    figure = build(r={})
    again = marks(figure, "retransmission:timeout")
    assert again.letter == "T"
    assert again.x.tolist() == [15.5]


def test_ruined_segments_are_marked_and_not_drawn_as_data():
    figure = build()
    assert marks(figure, "TcpRcv_corrupted").y.tolist() == [1 + MSS * 10]
    assert 10.2 not in series(figure, "TcpRcv_data").x


def test_a_local_drop_is_the_segment_captured_last_before_it():
    figure = build(offset_bytes=0)
    assert marks(figure, "TcpSnd_local_drop").y.tolist() == [1 + MSS * 3]


def test_a_local_drop_that_the_analysis_matched_is_taken_from_it():
    rows = {"t_ns": [T0], "conn": [0], "dir": [0], "seq": [1], "record": [8], "length": [MSS]}
    found = Result("local_drops", {}, {"local_drops": Table.filled(LOCAL_DROPS, 1, rows)})
    figure = build(r=results() | {"local_drops": found}, offset_bytes=0)
    assert marks(figure, "TcpSnd_local_drop").x.tolist() == [7.0]


def test_drops_in_a_burst_are_different_segments():
    m = measurement()
    events = m.tables["link_events"]
    m.tables["link_events"] = Table.concat(events.schema, [events, events.where(np.array([4]))])
    figure = build(m, offset_bytes=0)
    assert marks(figure, "TcpSnd_local_drop").y.tolist() == [1 + MSS * 2, 1 + MSS * 3]


def test_a_reset_is_one_vertical_mark_with_its_gap():
    figure = build()
    reset = marks(figure, "RlpSnd_rst")
    assert reset.y is None
    assert reset.texts == ("reset (iwf, N2)",)
    handshake = spans(figure, "lanes", "reset_handshake")
    assert (handshake.start.tolist(), handshake.end.tolist()) == ([12.0], [13.0])
    gap = spans(figure, "lanes", "reset_gap")
    assert (gap.start.tolist(), gap.end.tolist()) == ([10.4], [15.9])


def test_resets_that_share_a_gap_show_it_once():
    gaps = [(10.0, 14.0), (11.0, 15.0), (17.0, 18.0)]
    summary = {"resets": [{"t": a + 0.5, "gap_start": a, "gap_end": b} for a, b in gaps]}
    figure = build(r={"link_resets": Result("link_resets", summary)})
    gap = spans(figure, "lanes", "reset_gap")
    assert (gap.start.tolist(), gap.end.tolist()) == ([10.0, 17.0], [15.0, 18.0])
    assert len(marks(figure, "RlpSnd_rst").x) == 3


def test_resets_and_xoff_come_from_the_log_without_results():
    figure = build(r={})
    assert marks(figure, "RlpSnd_rst").x.tolist() == [12.0]
    xoff = spans(figure, "lanes", "RlpSnd_xoff")
    assert (xoff.start.tolist(), xoff.end.tolist()) == ([4.0], [5.5])


def test_idle_phases_have_one_role_per_cause():
    idle = {s.role: s for s in build().panel("lanes").spans if s.name.startswith("idle")}
    assert set(idle) == {"idle_handshake", "idle_timeout_wait"}
    assert idle["idle_timeout_wait"].words((0.0, 20.0)) == "idle: timeout wait (2, mean 1.5 s)"


def test_the_wait_for_the_last_ack_is_named_as_in_the_text():
    phases = [
        {"start": 1.0, "end": 2.0, "cause": "application", "because": "the application paused"},
        {"start": 8.0, "end": 9.0, "cause": "application", "because": LAST_ACK},
    ]
    figure = build(r={"idle_phases": Result("idle_phases", {"phases": phases})})
    assert [s.label for s in figure.panel("lanes").spans if s.name.startswith("idle")] == [
        "idle: application",
        "idle: wait for the last ACK",
    ]


def test_a_lane_without_spans_in_the_window_is_not_shown():
    assert build().panel("lanes").lanes == ("XOFF", "link reset", "reset gap", "link idle")
    assert build(from_s=4.2, to_s=5.2).panel("lanes").lanes == ("XOFF",)
    assert "lanes" not in {panel.name for panel in build(from_s=6.0, to_s=9.0).panels}


def test_trends_carry_their_rates():
    figure = build()
    link = series(figure, "RlpSnd_data trend")
    assert link.label == "trend: 6.4 kbit/s"
    assert (link.y[1] - link.y[0]) / (link.x[1] - link.x[0]) == pytest.approx(800.0)
    names = {s.name for panel in build(trends=False).panels for s in panel.series}
    assert not any("trend" in name for name in names)


def test_title_tells_the_transfer():
    figure = build()
    assert figure.title == "192.0.2.1:1024 → [2001:db8::1]:80"
    assert figure.subtitle.startswith("10,000 bytes, goodput 4.12 kbit/s over 19.40 s, ")
    assert figure.subtitle.endswith("1 retransmission, utilization 62.5%")
    assert figure.notes == ()


def test_a_window_narrows_the_y_range_and_the_counts():
    figure = build(from_s=5.0, to_s=8.0)
    assert figure.window == (5.0, 8.0)
    low, high = figure.panel("sequence").limits(figure.window)
    margin = (high - low) / 22  # 5% of the data's range on either side
    assert low + margin == pytest.approx(1 + MSS * 5)  # what the receiver had acknowledged by then
    assert high - margin == pytest.approx(20_000 + 24 * 266)  # the link's last frame in the window
    assert marks(figure, "timeout:genuine").words(figure.window) == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"from_s": 3.0, "to_s": 3.0}, "is empty"),
        ({"from_s": 5.0, "to_s": 1.0}, "is empty"),
        ({"from_s": float("nan")}, "is not a time"),
        ({"from_s": 500.0}, "nothing to plot from 500 s: the data lies"),
        ({"to_s": -20.0}, "nothing to plot to -20 s: the data lies"),
        ({"conn": 7}, "connection 7 does not exist"),
        ({"offset_bytes": -1}, "-1 is not between 0 and"),
    ],
)
def test_a_senseless_request_is_a_usage_error(given, said):
    with pytest.raises(UsageError, match=said):
        build(**given)


@pytest.mark.parametrize(
    ("layers", "missing"),
    [
        (("snd", "rcv", "link"), "no kernel log"),
        (("snd", "rcv", "kernel"), "no link log"),
        (("snd", "link", "kernel"), "no capture at the receiver"),
        (("rcv", "link", "kernel"), "no capture at the sender"),
        (("link",), "no TCP capture"),
    ],
)
def test_a_missing_layer_is_said_and_the_rest_drawn(layers, missing):
    figure = build(measurement(*layers), {})
    assert any(missing in note for note in figure.notes)
    assert figure.panel("sequence").series


def test_nothing_at_all_is_a_usage_error():
    with pytest.raises(UsageError, match="nothing to plot"):
        build(measurement("kernel"), {})


def test_a_source_off_the_timeline_is_left_out_and_said():
    m = measurement()
    m.clocks = [type(c)(**{**vars(c), "grade": "unjoined" if c.source == 3 else c.grade}) for c in m.clocks]
    figure = build(m)
    assert not any(s.name == "TcpSnd_cwnd" for s in figure.panel("window").series)
    assert "ftrace log not on the timeline: left out" in figure.notes


def test_results_of_another_shape_do_not_break_the_figure():
    odd = {
        "timeouts": Result("timeouts", inconclusive="needs segments"),
        "link_resets": Result("link_resets", {"resets": [{"t": None}, {"t": float("nan")}, {}]}),
        "flow_control": Result("flow_control", {"intervals": [{"start": 3.0}, {"start": 2.0, "end": 1.0}]}),
        "idle_phases": Result(
            "idle_phases", {"phases": [{"start": 1.0, "end": 2.0, "cause": "solar flare"}]}
        ),
        "utilization": Result("utilization", {"value": None}),
    }
    figure = build(r=odd)
    assert {s.label for s in figure.panel("lanes").spans} == {"idle: solar flare"}
    assert "utilization" not in figure.subtitle


def test_absolute_time_needs_a_wall_clock():
    assert build(absolute_time=True).t0_ns == T0
    m = measurement()
    m.traces[0].source.clock = "unknown"
    with pytest.raises(UsageError, match="time of day"):
        build(m, absolute_time=True)


def test_a_huge_receiver_window_does_not_squeeze_the_congestion_window():
    m = measurement()
    table = m.tables["segments"]
    m.tables["segments"] = table.replace(window=np.where(table["window"] > 0, 1_000_000, table["window"]))
    panel = build(m).panel("window")
    assert panel.limits((0.0, 20.0))[1] < 10_000
