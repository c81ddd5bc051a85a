"""One flow: goodput by window, queue and segment size."""

from __future__ import annotations

from collections.abc import Sequence

from published import Finding, interval, ratios
from simulators import SEGMENTS, SIZES, Simulator, each


def one_flow(both: Sequence[Simulator]) -> list[Finding]:
    """Sections 1.1 to 1.3."""

    def small(one: Simulator) -> list[float]:
        wide = {k: v for k, v in one.goodput.items() if k[1] == 8000 and k[2] > 2000}
        return ratios(wide, {(k[0], 8000, *k[2:]): v for k, v in one.goodput.items() if k[1] == 2000})

    def spread(one: Simulator) -> float:
        cells = [one.cell("reno", 8000, 8000, segment) for segment in SEGMENTS]
        return max(cells) / min(cells)

    def line(one: Simulator, flavour: str, window: int, queue: int) -> list[float]:
        return [one.cell(flavour, window, queue, segment) for segment in SEGMENTS]

    def written(values: Sequence[float]) -> str:
        return ", ".join(f"{value:.0f}" for value in values)

    def falls(values: Sequence[float]) -> bool:
        return values[0] > values[1] > values[2]

    def gaps(one: Simulator) -> list[float]:
        return [one.cell("reno", 64000, q, 512) - one.cell("reno", 64000, q, 128) for q in SIZES]

    def same(one: Simulator) -> float:
        """Largest change of goodput by the queue (8,000 and more) with a window of 2,000."""
        return max(
            abs(one.cell(f, 2000, q, s) / one.cell(f, 2000, 8000, s) - 1)
            for f in ("tahoe", "reno")
            for q in SIZES[1:]
            for s in SEGMENTS
        )

    def longer(one: Simulator, segment: int) -> list[float]:
        return [one.cell(f, 64000, q, segment) for f in ("tahoe", "reno") for q in (32000, 64000)]

    def both_flavours(cells: Sequence[float]) -> str:
        return f"Tahoe {cells[0]:.0f} to {cells[1]:.0f}, Reno {cells[2]:.0f} to {cells[3]:.0f}"

    def against(one: Simulator) -> list[float]:
        """Goodput of Tahoe over that of Reno, case by case."""
        return [v / one.goodput["reno", *k[1:]] for k, v in one.goodput.items() if k[0] == "tahoe"]

    def alike(one: Simulator) -> str:
        found = against(one)
        return (
            f"equal in {sum(abs(q - 1) <= 0.01 for q in found)} of {len(found)} cases, Tahoe better in "
            f"{sum(q > 1.01 for q in found)}, by {100 * (max(found) - 1):.0f}% at most, worse in "
            f"{sum(q < 0.99 for q in found)}, by {100 * (1 - min(found)):.0f}% at most"
        )

    low = [line(one, f, 2000, 2000) for one in both for f in ("tahoe", "reno")]
    return [
        Finding(
            "1.1 (1), Tahoe and Reno",
            "goodput is much lower with a window of 2,000 bytes",
            "none in the text",
            each(
                both,
                lambda one: (
                    f"window of 8,000: {interval(small(one)).text(1)} times that of 2,000, n = 18 cases"
                ),
            ),
            all(min(small(one)) > 2 for one in both),
            "queues of 8,000 and more; the window is the limit",
        ),
        Finding(
            "1.1 (2)",
            "from a window of 8,000 on the segment size makes little difference on average",
            "none in the text",
            each(both, lambda one: f"{written(line(one, 'reno', 8000, 8000))} kbit/s for 128, 256, 512"),
            all(spread(one) < 1.25 for one in both),
            "what differs is the headers: 40 to 42 bytes a segment",
        ),
        Finding(
            "1.1 (3)",
            "with a queue of 2,000 segments of 256 and 512 are alike, 128 can be much lower",
            "none in the text",
            "; ".join(
                f"{one.name} {f}: {written(line(one, f, 64000, 2000))} kbit/s for 128, 256, 512"
                for one in both
                for f in ("tahoe", "reno")
            ),
            all(cells[0] < min(cells[1:]) for cells in low),
            "2,000 bytes hold three packets of 512 or eleven of 128: with so few in flight there are no three duplicate "
            "ACKs, and a loss needs an RTO. The published rates and delays are unknown; with a shorter path fewer are "
            "in flight and headers decide",
        ),
        Finding(
            "1.1, Tahoe and Reno",
            "Reno is like Tahoe; Tahoe performs slightly better in some cases",
            "none in the text",
            each(both, alike),
            all(any(q > 1.01 for q in against(one)) for one in both)
            and all(sum(abs(q - 1) <= 0.01 for q in against(one)) > 24 for one in both),
            "equal is within 1%. By more than slightly in some; which cases they are is in 4.1",
        ),
        Finding(
            "1.2 (1), Tahoe and Reno",
            "small window: goodput(128) > goodput(256) > goodput(512)",
            "none in the text",
            each(both, lambda one: f"{written(line(one, 'reno', 2000, 64000))} kbit/s"),
            all(falls(line(one, f, 2000, q)) for one in both for f in ("tahoe", "reno") for q in SIZES[1:]),
            "in all queues of 8,000 and more",
        ),
        Finding(
            "1.2 (1), reason",
            "a window of 2,000 has at most 13, 7 and 3 packets; the queue changes nothing",
            "13, 7, 3",
            "15, 7, 3; " + each(both, lambda one: f"by the queue at most {100 * same(one):.1f}% of goodput"),
            all(same(one) < 0.01 for one in both),
            "13 counts 24 bytes of header into the window; a TCP window counts data: 2000 / 128 = 15",
        ),
        Finding(
            "1.2 (2), Tahoe and Reno",
            "large window: goodput(128) < goodput(256) < goodput(512)",
            "none in the text",
            each(both, lambda one: f"{written(line(one, 'reno', 64000, 64000))} kbit/s"),
            all(falls(line(one, f, 64000, 64000)[::-1]) for one in both for f in ("tahoe", "reno")),
            "window and queue of 64,000",
        ),
        Finding(
            "1.2 (2), reason",
            "the gap between 128 and 512 becomes smaller with smaller queues",
            "none in the text",
            each(both, lambda one: f"{written(gaps(one))} kbit/s for queues of 2,000 to 64,000"),
            all(gaps(one)[0] < gaps(one)[1] < gaps(one)[3] for one in both),
            "Reno, window of 64,000; queues of 8,000 and 32,000 are alike",
        ),
        Finding(
            "1.3, segments of 256",
            "window of 64,000: goodput falls when the queue grows to 64,000",
            "none in the text",
            each(both, lambda one: both_flavours(longer(one, 256)))
            + " kbit/s for queues of 32,000 to 64,000",
            all(cells[1] < cells[0] and cells[3] < cells[2] for cells in (longer(one, 256) for one in both)),
            "ours grows: at our rate and delay a queue of 64,000 drops less than one of 32,000. Where more is worse depends on "
            "rate and delay, which are not published",
        ),
        Finding(
            "1.3, segments of 512",
            "... it goes on growing with 512",
            "none in the text",
            each(both, lambda one: both_flavours(longer(one, 512)))
            + " kbit/s for queues of 32,000 to 64,000",
            all(cells[1] > cells[0] and cells[3] > cells[2] for cells in (longer(one, 512) for one in both)),
            "with 64,000 nothing is dropped any more",
        ),
    ]
