"""The cellular modem behind an interface: its signal, as ModemManager's ``mmcli`` prints it.

Nothing is changed in the modem. RSRP, RSRQ and SNR have values only while they are polled
(``mmcli -m N --signal-setup``); otherwise mmcli prints ``--``. Of its other output, only the state of the
radio is kept: the rest has the numbers of the device and the SIM card.

Reference: mmcli(1); ModemManager ``cli/mmcli-output.c`` and ``cli/mmcli-modem-signal.c``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.record.host import installed
from multitracer.record.system import Process, spawn, stop

MMCLI = "mmcli"
_PATIENCE_S = 5.0
_PERIOD_S = 1.0  # modems report new signals once a second at most
_KEPT = ("state", "access-technologies", "signal-quality")
_NAMES = re.compile(r"(?:wwan|ppp|rmnet|wwp|mhi_)\w*")


def looks_cellular(interface: str) -> bool:
    """Whether an interface is likely that of a cellular modem: by its kind, or by its name."""
    try:
        with open(f"/sys/class/net/{interface}/uevent", encoding="ascii", errors="replace") as file:
            if "DEVTYPE=wwan" in file.read():
                return True
    except OSError:
        pass
    return bool(_NAMES.fullmatch(interface))


@frozen
class Modem:
    """A modem of this host.

    Attributes
    ----------
    path : str
        As mmcli names it.
    polled_s : int
        How often its signals are polled; 0: not at all.
    """

    path: str
    polled_s: int

    @property
    def number(self) -> str:
        """As mmcli takes it after ``-m``."""
        return self.path.rpartition("/")[2]


def find(interface: str) -> Modem | None:
    """The modem to which an interface belongs; None if there is none, or ModemManager is missing."""
    if not installed(MMCLI):
        return None
    paths = _asked("-L").get("modem-list")
    paths = [one for one in paths if isinstance(one, str)] if isinstance(paths, list) else []
    for path in paths:
        if interface in _ports(path) or (len(paths) == 1 and interface.startswith("ppp")):
            refresh = _inner(_asked("-m", path, "--signal-get"), "modem", "signal", "refresh").get("rate")
            return Modem(path, int(refresh) if isinstance(refresh, str) and refresh.isdecimal() else 0)
    return None


def _ports(path: str) -> list[str]:
    """Names of its network ports: ``wwan0 (net)``."""
    ports = _inner(_asked("-m", path), "modem", "generic").get("ports")
    found = [one for one in ports if isinstance(one, str)] if isinstance(ports, list) else []
    return [one.removesuffix(" (net)") for one in found if one.endswith(" (net)")]


def _asked(*words: str) -> dict[str, Any]:
    try:
        said = subprocess.run(
            [MMCLI, *words, "-J"], capture_output=True, timeout=_PATIENCE_S, env={**os.environ, "LC_ALL": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return _document(said.stdout)


def _document(text: bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _inner(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        value = data.get(key)
        data = value if isinstance(value, dict) else {}
    return data


class Asking:
    """Polls a modem repeatedly, without waiting for its answers: a modem may take seconds.

    Parameters
    ----------
    modem : Modem
    """

    def __init__(self, modem: Modem) -> None:
        self._commands = [[MMCLI, "-m", modem.path, *words, "-J"] for words in (("--signal-get",), ())]
        self._at = 0
        self._process: Process | None = None
        self._asked_s = float("-inf")

    def lines(self) -> list[str]:
        """What it has answered since the last call, as JSON lines; asks again if that is due."""
        found = []
        if self._process is not None and self._process.poll() is not None:
            said, _ = self._process.communicate()
            self._process = None
            if kept := radio_only(_document(said)):
                found.append(json.dumps(kept, separators=(",", ":")))
        if self._process is None and (self._at or time.monotonic() - self._asked_s >= _PERIOD_S):
            if not self._at:
                self._asked_s = time.monotonic()
            self._process = spawn(self._commands[self._at], stdout=subprocess.PIPE)
            self._at = (self._at + 1) % len(self._commands)
        return found

    def close(self) -> None:
        """Wait for nothing more."""
        if self._process is not None:
            stop(self._process)
            self._process = None


def radio_only(data: dict[str, Any]) -> dict[str, Any]:
    """The radio values of a document of mmcli; empty if there are none."""
    kept = {}
    signal, generic = _inner(data, "modem", "signal"), _inner(data, "modem", "generic")
    if signal:
        kept["signal"] = signal
    if known := {name: generic[name] for name in _KEPT if name in generic}:
        kept["generic"] = known
    return {"modem": kept} if kept else {}
