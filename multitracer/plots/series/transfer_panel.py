"""TCP above what its link did: the data at both ends, retransmissions, timeouts."""

from __future__ import annotations

from dataclasses import replace

from multitracer.plots.panel import Axis, Panel
from multitracer.plots.series import result_marks, tcp_layer
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection


def transfer_panel(selection: Selection, results: Results) -> Panel | None:
    """Data as it was sent and as it arrived, in true sequence numbers; None without a capture."""
    series = [
        one
        for end in ("Snd", "Rcv")
        for one in tcp_layer.data_series(selection, end, 0, "")
        if one.name.endswith("_data")
    ]
    if not series:
        return None
    judged = result_marks.timeout_rows(selection, results)
    marks = [] if judged is None else [*result_marks.timeout_marks(selection, judged, 0, "")]
    marks += tcp_layer.retransmission_marks(
        selection, 0, "", without=None if judged is None else judged["record"]
    )
    resets = result_marks.resets(selection, results, selection.link("link_events"))
    shaded = tuple(replace(one, label="") for one in result_marks.gap_spans(resets, ""))
    return Panel("transfer", Axis("Sequence number", "bytes"), tuple(series), tuple(marks), shaded)
