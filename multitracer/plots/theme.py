"""What each role looks like, in light and dark, for every renderer.

Colours are Okabe and Ito's (2008), and two of Tol's muted scheme (2021), distinct with any colour vision;
shape and line style carry every distinction a second time.
"""

from __future__ import annotations

from typing import Literal

from multitracer.model.frozen import frozen
from multitracer.plots.panel import Role

ThemeName = Literal["light", "dark"]

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#999999"
OLIVE, SAND, MAUVE = "#999933", "#DDCC77", "#AA4499"


@frozen
class Look:
    """How a role is drawn.

    Attributes
    ----------
    color : str
    symbol : str
        Marker of a point, in matplotlib's letters; "" for none.
    size : float
        Of the symbol, in points.
    hollow : bool
        Symbol drawn as an outline.
    dash : {"solid", "dashed", "dotted", "dashdot"}
    width : float
        Of the line, in points.
    alpha : float
    """

    color: str
    symbol: str = ""
    size: float = 3.0
    hollow: bool = False
    dash: Literal["solid", "dashed", "dotted", "dashdot"] = "solid"
    width: float = 1.0
    alpha: float = 1.0


@frozen
class Theme:
    """Ground, ink and the looks of all roles."""

    ground: str
    ink: str
    faint: str
    grid: str
    looks: dict[Role, Look]


def _looks(ink: str, link: str, rcv_ack: str, flight: str) -> dict[Role, Look]:
    return {
        "snd_data": Look(ink, "o", 3.2),
        "snd_ack": Look(GREEN, width=1.3),
        "rcv_data": Look(PURPLE, "o", 3.2),
        "rcv_ack": Look(rcv_ack, width=1.3),
        "link_data": Look(link, "o", 1.8),
        "link_retransmission": Look(ORANGE, "D", 2.4),
        "link_reset": Look(VERMILION, dash="dashdot", width=1.4),
        "trend": Look(ink, dash="dashed", width=0.9, alpha=0.75),
        "trend_between": Look(link, dash="dotted", width=1.6),
        "zero_window": Look(GREEN, "s", 4.0),
        "cwnd": Look(link, width=1.8),
        "cwnd_sample": Look(link, "o", 4.0),
        "ssthresh": Look(VERMILION, dash="dashed", width=1.3),
        "flight": Look(flight, width=1.0),
        "rwnd": Look(GREEN, dash="dotted", width=1.5),
        "timeout": Look(VERMILION, "o", 4.5),
        "timeout_spurious": Look(VERMILION, "s", 6.5, hollow=True, width=1.4),
        "timeout_genuine": Look(VERMILION, "s", 6.5),
        "timeout_inconclusive": Look(VERMILION, "s", 6.5, hollow=True, dash="dotted", width=1.4),
        "fast_retransmit": Look(VERMILION, "^", 5.5),
        "slow_start_retransmission": Look(PURPLE, "v", 4.5),
        "tail_loss_probe": Look(ORANGE, "P", 5.5),
        "other_retransmission": Look(GREY, "X", 5.5),
        "corrupted": Look(VERMILION, "x", 5.0, width=1.3),
        "local_drop": Look(VERMILION, "x", 7.0, width=1.8),
        "flow_control": Look(YELLOW, alpha=0.40),
        "reset_handshake": Look(flight, alpha=0.60),
        "reset_gap": Look(VERMILION, alpha=0.13),
        "idle_handshake": Look(SKY),
        "idle_pacing": Look(MAUVE),
        "idle_timeout_wait": Look(VERMILION),
        "idle_receiver_window": Look(GREEN),
        "idle_application": Look(OLIVE),
        "idle_last_ack": Look(SAND),
        "idle_local_drop": Look(BLUE),
        "idle_recovery_stall": Look(ORANGE),
        "idle_power_save": Look(YELLOW),
        "idle_unknown": Look(GREY),
        "slow_start": Look(SKY),
        "pause": Look(ORANGE),
        "limit_congestion": Look(link),
        "limit_receiver": Look(GREEN),
        "limit_neither": Look(OLIVE),
        "sack": Look(PURPLE, width=1.4),
        "corrupted_true": Look(VERMILION, "D", 4.5, hollow=True, width=1.2),
        "packet_path": Look(link, width=0.8),
        "packet_again": Look(ORANGE, width=1.2),
        "packet_lost": Look(VERMILION, "x", 6.0, dash="dashed", width=1.2),
        "rtt_sample": Look(ink, "o", 3.0),
        "srtt": Look(link, width=1.5),
        "rto": Look(VERMILION, dash="dashed", width=1.4),
        "throughput": Look(link, width=1.5),
        "goodput": Look(GREEN, dash="dashed", width=1.6),
        "delay": Look(link, "o", 3.0),
        "delay_back": Look(ORANGE, "D", 2.8),
        "min_rtt": Look(ink, dash="dotted", width=1.2, alpha=0.75),
        "histogram": Look(link, alpha=0.85),
        "range": Look(ink, "s", 4.0, width=1.6),
        "dimension": Look(VERMILION, width=1.2),
        "note": Look(ink, "v", 5.0),
        "curve_1": Look(link, "o", 3.0, width=1.5),
        "curve_2": Look(VERMILION, "s", 3.0, dash="dashed", width=1.5),
        "curve_3": Look(GREEN, "^", 3.5, dash="dashdot", width=1.5),
        "curve_4": Look(PURPLE, "D", 3.0, dash="dotted", width=1.8),
        "curve_5": Look(ORANGE, "v", 3.5, width=1.5),
        "curve_6": Look(rcv_ack, "P", 3.5, dash="dashed", width=1.5),
        "curve_7": Look(flight, "X", 3.5, dash="dashdot", width=1.5),
        "curve_8": Look(ink, "o", 2.5, dash="dotted", width=1.8),
    }


THEMES: dict[ThemeName, Theme] = {
    "light": Theme("#ffffff", "#1a1a1a", "#5f5f5f", "#e4e4e4", _looks("#1a1a1a", BLUE, SKY, "#8a8a8a")),
    "dark": Theme("#16181c", "#ececec", "#a8a8a8", "#33373d", _looks("#ececec", SKY, YELLOW, "#8f949c")),
}
