"""The link's own window: by the N(R) that its sender heard, or by what arrived."""

from __future__ import annotations

from support_measurement import LinkLog, measurement

from multitracer.layers.link.path import link_path
from multitracer.layers.link.waits import full_window
from multitracer.model.arrays.intervals import total

MS = 1_000_000


def log(numbers: bool) -> str:
    """Eight frames over a window of 4 and the end of the numbers; acknowledged late, several at once."""
    made = LinkLog("slot_ms=20 payload_bytes=24 window=4 t1_ms=620")
    for index in range(8):
        ns = (60 + index) % 62
        made.line(100 + 20 * index, f"ms snd I ns={ns} off={24 * index} len=24")
        made.line(110 + 20 * index, f"iwf rcv I ns={ns} off={24 * index} len=24")
    nr = [" nr=1", " nr=3", " nr=6"] if numbers else ["", "", ""]
    for t_ms, words in zip((200, 230, 400), nr, strict=True):
        made.line(t_ms - 5, f"iwf snd I ns={t_ms % 62} off={t_ms} len=24")
        made.line(t_ms, f"ms rcv I ns={t_ms % 62} off={t_ms} len=24{words}")
    return made.text()


def closed(text: str) -> list[tuple[int, int]]:
    m = measurement(None, text)
    path = link_path(m)
    assert path is not None
    return [(start // MS, end // MS) for start, end in full_window(m, path).tolist()]


def test_by_the_numbers_heard() -> None:
    # Frame 1 (160 ms) fills the window until N(R) 1 at 200 ms takes 60, 61 and 0 off; frame 4 (220 ms) until
    # N(R) 3 at 230 ms takes 1 and 2 off; frame 5 (240 ms) finds room.
    assert closed(log(numbers=True)) == [(160, 200), (220, 230)]


def test_without_numbers_by_what_arrived() -> None:
    found = closed(log(numbers=False))
    assert total_ms(found) < 8 * 15  # each frame comes 10 ms after it was sent, and the way back takes 5 ms


def total_ms(spans: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


def test_numbers_that_mean_nothing_close_the_window_no_longer_than_the_log() -> None:
    text = log(numbers=True).replace("nr=", "nr=9")
    m = measurement(None, text)
    path = link_path(m)
    assert path is not None
    assert total(full_window(m, path)) >= 0


def test_a_frame_that_was_given_up_closes_the_window_no_longer_than_its_last_attempt() -> None:
    made = LinkLog("slot_ms=20 payload_bytes=24 window=1 n2=1")
    t_ms = 100
    for index in range(10):
        made.line(t_ms, f"ms snd I ns={index} off={24 * index} len=24")
        if index == 3:
            made.line(t_ms + 20, f"ms snd I ns={index} off={24 * index} len=24 try=1")
        else:
            made.line(t_ms + 10, f"iwf rcv I ns={index} off={24 * index} len=24")
        t_ms += 100
    found = closed(made.text())
    assert (found[3], len(found)) == (
        (400, 450),
        10,
    )  # behind the second attempt (420 ms) its slot, and the way back
    assert all(end - start <= 50 for start, end in found)


def test_a_frame_that_never_arrived_closes_the_window_while_the_link_waits_for_it() -> None:
    made = LinkLog("slot_ms=20 payload_bytes=24 window=2 n2=1")
    made.line(100, "ms snd I ns=0 off=0 len=24")
    made.line(120, "ms snd I ns=1 off=24 len=24")
    made.line(130, "iwf rcv I ns=1 off=24 len=24")
    assert closed(made.text())[0][1] > 10**9
