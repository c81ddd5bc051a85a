"""What ``mmcli -m N -J`` and ``mmcli -m N --signal-get -J`` print: signals of a cellular modem.

Reference: ModemManager ``cli/mmcli-output.c`` (names of fields, ``--`` for what is unknown), D-Bus interfaces
org.freedesktop.ModemManager1.Modem (SignalQuality, AccessTechnologies) and Modem.Signal (units).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer.parsers._helpers.testlog import Values

_TECHNOLOGIES = {
    "5g": "5G",
    "lte": "LTE",
    "umts": "UMTS",
    "gsm": "GSM",
    "evdo": "EV-DO",
    "cdma1x": "CDMA",
}
_SIGNALS = {
    "rsrp": "rsrp_dbm",
    "rsrq": "rsrq_db",
    "snr": "snr_db",
    "sinr": "sinr_db",
    "rssi": "rssi_dbm",
    "rscp": "rscp_dbm",
    "ecio": "ecio_db",
}
# A locale may have written the decimal comma.
_NUMBER = re.compile(r"-?\d{1,4}(?:[.,]\d{1,6})?")
_TECHNOLOGY = re.compile(r"[0-9A-Za-z-]{1,16}")


class ModemSignals:
    """Collects documents of mmcli.

    Attributes
    ----------
    values : Values
        `series` by radio technology (``LTE``, ``5G``): powers in dBm, ratios in dB; and
        ``signal_quality_percent`` by the technologies in use.
    """

    def __init__(self) -> None:
        self.values = Values()

    def document(self, t_ns: int, record: int, data: Any) -> bool:
        """Take a JSON document; whether it is one of mmcli about a modem.

        Parameters
        ----------
        t_ns : int
            Time of the sample.
        record : int
            Number of the line.
        data : object
            As json.loads returns it.
        """
        modem = data.get("modem") if isinstance(data, dict) else None
        if not isinstance(modem, dict):
            return False
        signal, generic = modem.get("signal"), modem.get("generic")
        for key, technology in _TECHNOLOGIES.items():
            values = signal.get(key) if isinstance(signal, dict) else None
            if not isinstance(values, dict):
                continue
            for name, series in _SIGNALS.items():
                number = _number(values.get(name))
                if number is not None:
                    self.values.add(t_ns, record, series, number, technology)
        if isinstance(generic, dict):
            self._quality(t_ns, record, generic)
        return True

    def _quality(self, t_ns: int, record: int, generic: Mapping[str, Any]) -> None:
        quality, used = generic.get("signal-quality"), generic.get("access-technologies")
        # One that is not recent is of an earlier sample.
        if not isinstance(quality, dict) or quality.get("recent") != "yes":
            return
        percent = _number(quality.get("value"))
        if percent is not None and 0 <= percent <= 100:
            names = [one for one in used if isinstance(one, str)] if isinstance(used, list) else []
            known = [_TECHNOLOGIES.get(one, one.upper()) for one in names[:4] if _TECHNOLOGY.fullmatch(one)]
            self.values.add(t_ns, record, "signal_quality_percent", percent, "+".join(known))


def _number(text: Any) -> float | None:
    """A number as mmcli prints it; None for ``--`` and all else."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return None
    return float(text.replace(",", "."))
