"""Writes the link-layer log, format rlpdump 1."""

from __future__ import annotations


class RlpdumpLog:
    """Collects the lines of one link, in time order.

    Parameters
    ----------
    entities : tuple of str
        Names of the entities at side 0 and 1.
    """

    def __init__(self, entities: tuple[str, str]) -> None:
        self.entities = entities
        self._lines: list[str] = []

    def line(self, t_ns: int, side: int, text: str) -> None:
        """Add a line; `text` is what follows time and entity.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 or 1: which entity.
        text : str
        """
        self._lines.append(f"{t_ns // 1_000_000_000}.{t_ns % 1_000_000_000:09d} {self.entities[side]} {text}")

    def drop(self, t_ns: int, side: int, length: int) -> None:
        """Add a packet that the interface queue dropped.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 or 1: which entity.
        length : int
            Bytes of the packet.
        """
        self.line(t_ns, side, f"evt drop queue=if len={length}")

    def reset(self, t_ns: int, side: int, cause: str, flush_tx: int, flush_rx: int) -> None:
        """Add a link reset with the bytes that it flushed.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 or 1: which entity.
        cause : str
        flush_tx, flush_rx : int
            Bytes, of the send and of the receive buffer.
        """
        self.line(t_ns, side, f"evt reset cause={cause} flush_tx={flush_tx} flush_rx={flush_rx}")

    def drain(self) -> list[str]:
        """Take the lines collected so far."""
        lines, self._lines = self._lines, []
        return lines


def header(clock: str = "realtime", **settings: float | int | str) -> str:
    """First line of a log; whole numbers are written without a decimal point."""
    words = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in settings.items()
    ]
    return " ".join(["# rlpdump 1", f"clock={clock}", *words])
