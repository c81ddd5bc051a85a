"""What ``iw dev NAME station dump`` prints: signal and rates of a Wi-Fi station, and what its driver counts.

Reference: iw ``station.c``; Linux ``include/uapi/linux/nl80211.h`` (enum nl80211_sta_info).
"""

from __future__ import annotations

import re

from multitracer.parsers._helpers.testlog import Values

_STATION = re.compile(rb"Station ([0-9a-f]{2}(?::[0-9a-f]{2}){5}) \(on ([\w.@-]{1,20})\)")
_COUNTS = frozenset(
    {
        *(b"rx bytes", b"rx packets", b"tx bytes", b"tx packets", b"tx retries", b"tx failed"),
        *(b"beacon loss", b"beacon rx", b"rx drop misc", b"rx duration", b"tx duration"),
    }
)
_SIGNALS = {
    b"signal": "signal_dbm",
    b"signal avg": "signal_average_dbm",
    b"beacon signal avg": "beacon_signal_dbm",
    b"last ack signal": "ack_signal_dbm",
}
_RATES = {
    b"tx bitrate": "tx_bitrate_bps",
    b"rx bitrate": "rx_bitrate_bps",
    b"expected throughput": "expected_throughput_bps",
}
_COUNT = re.compile(rb"(\d{1,20})(?: us)?")
_SIGNAL = re.compile(rb"(-\d{1,3})(?: \[[-\d, ]{1,40}\])? dBm")
_RATE = re.compile(rb"(\d{1,6}(?:\.\d{1,6})?) ?(?:MBit/s|Mbps)\b.*")


class StationDump:
    """Collects stations line by line.

    Attributes
    ----------
    values : Values
        `series` by station (its address): signals in dBm, bitrates in bit/s.
    """

    def __init__(self) -> None:
        self.values = Values()
        self._station = ""

    def begins(self, text: bytes) -> bool:
        """Whether this line names the station that the next ones are of."""
        found = _STATION.fullmatch(text)
        if found is not None:
            self._station = found[1].decode()
        return found is not None

    def line(self, t_ns: int, record: int, text: bytes) -> list[tuple[str, int]]:
        """Take a line of a station.

        Parameters
        ----------
        t_ns : int
            Time of the sample.
        record : int
            Number of the line.
        text : bytes
            Without blanks around it.

        Returns
        -------
        list of (str, int)
            The counter in it, if it is one: ``iw.tx_retries``.
        """
        name, colon, rest = text.partition(b":")
        value = rest.strip()
        if not colon:
            return []
        if name in _COUNTS and (found := _COUNT.fullmatch(value)):
            return [(f"iw.{name.decode().replace(' ', '_')}", int(found[1]))]
        if name in _SIGNALS and (found := _SIGNAL.fullmatch(value)):
            self.values.add(t_ns, record, _SIGNALS[name], float(found[1]), self._station)
        elif name in _RATES and (found := _RATE.fullmatch(value)):
            self.values.add(t_ns, record, _RATES[name], float(found[1]) * 1e6, self._station)
        return []
