"""802.11 frames with radiotap headers, as a monitor on the channel records them.

Reference: IEEE 802.11-2020 sections 9.2, 9.3, 15.2, 16.2, 17.4.3; radiotap.org.
"""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from typing import IO, Any

from multitracer.model.errors import UsageError

STATION = bytes.fromhex("020000000001")
ACCESS_POINTS = (bytes.fromhex("020000000011"), bytes.fromhex("020000000012"))
NETWORK = b"multitracer lab"

RATES_BPS = tuple(round(mbps * 1e6) for mbps in (1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54))
_DSSS = RATES_BPS[:4]
_SIFS_US = {True: 10, False: 16}
_FCS = 4
_ACK_BYTES = 14
_LINKTYPE = 127
_PRESENT = 0x2F  # TSFT, flags, rate, channel, signal
_SHORT_PREAMBLE, _FCS_AT_END = 0x02, 0x10
_RETRY = 0x0800
_QOS_DATA, _TO_AP, _FROM_AP = 0x0088, 0x0100, 0x0200
_ACK = 0x00D4
_LLC = bytes.fromhex("aaaa03000000")
_SIGNAL_DBM = (-52, -47)


def airtime_us(length: int, rate_bps: int) -> float:
    """Microseconds on the air of a frame of `length` bytes, its check sequence included."""
    bits = 8 * length
    if rate_bps in _DSSS:
        return (96 if rate_bps > 1_000_000 else 192) + bits / rate_bps * 1e6
    return 20 + 4.0 * -(-(22 + bits) // (rate_bps // 250_000))


class Frames:
    """Builds the frames of one station and its access points, in the order in which they are sent.

    Parameters
    ----------
    rate_bps : float
        Of data frames; acknowledgements go at the highest mandatory rate up to it.

    Raises
    ------
    UsageError
        If 802.11 (a, b, g) has no such rate.
    """

    def __init__(self, rate_bps: float) -> None:
        rate = round(rate_bps)
        if rate not in RATES_BPS:
            known = ", ".join(f"{rate / 1e6:g}" for rate in sorted(RATES_BPS))
            raise UsageError(f"rate_bps: {rate_bps:g} is no rate of 802.11; in Mbit/s they are {known}")
        self.rate_bps, self.dsss = rate, rate in _DSSS
        mandatory = _DSSS if self.dsss else (6_000_000, 12_000_000, 24_000_000)
        self.ack_rate_bps = max(one for one in mandatory if one <= rate)
        self.answer_ns = round((_SIFS_US[self.dsss] + airtime_us(_ACK_BYTES, self.ack_rate_bps)) * 1e3)
        self.access_point = 0
        self._management = 0

    def data(self, side: int, packet: bytes, number: int, retry: bool) -> bytes:
        """An IP packet from `side` (0: the station).

        Parameters
        ----------
        side : int
            0 the station, 1 the access point.
        packet : bytes
            From its IP header on.
        number : int
            Sequence number, taken modulo 4096.
        retry : bool
            Sets the retry bit.

        Returns
        -------
        bytes
            The frame with its FCS.
        """
        control = _QOS_DATA | (_FROM_AP if side else _TO_AP) | (_RETRY if retry else 0)
        duration = -(-self.answer_ns // 1000)
        ap = ACCESS_POINTS[self.access_point]
        addresses = STATION + ap + ap if side else ap + STATION + ap
        ether_type = b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00"
        header = struct.pack("<HH", control, duration) + addresses + struct.pack("<HH", number % 4096 << 4, 0)
        return _whole(header + _LLC + ether_type + packet)

    def ack(self, side: int) -> bytes:
        """The answer to a frame from `side`."""
        return _whole(struct.pack("<HH", _ACK, 0) + (ACCESS_POINTS[self.access_point] if side else STATION))

    def deauthentication(self, side: int) -> bytes:
        """`side` ends the association: the sender leaves (reason 3)."""
        return self._managed(0x00C0, side, struct.pack("<H", 3))

    def association(self, roam: bool) -> list[tuple[int, bytes]]:
        """Authentication and (re)association with the access point, by who sends: the answers included."""
        before = ACCESS_POINTS[self.access_point]
        if roam:
            self.access_point = 1 - self.access_point
        name = bytes([0, len(NETWORK)]) + NETWORK + bytes([1, 4, 0x82, 0x84, 0x8B, 0x96])
        request = struct.pack("<HH", 0x0421, 10) + (before if roam else b"") + name
        answer = struct.pack("<HHH", 0x0421, 0, 0xC001) + name[2 + len(NETWORK) :]
        frames = [
            (0, self._managed(0x00B0, 0, struct.pack("<HHH", 0, 1, 0))),
            (1, self._managed(0x00B0, 1, struct.pack("<HHH", 0, 2, 0))),
            (0, self._managed(0x0020 if roam else 0x0000, 0, request)),
            (1, self._managed(0x0030 if roam else 0x0010, 1, answer)),
        ]
        return [each for side, frame in frames for each in ((side, frame), (1 - side, self.ack(side)))]

    def _managed(self, control: int, side: int, body: bytes) -> bytes:
        self._management += 1
        ap = ACCESS_POINTS[self.access_point]
        addresses = STATION + ap + ap if side else ap + STATION + ap
        tail = struct.pack("<H", self._management % 4096 << 4)
        return _whole(struct.pack("<HH", control, 60) + addresses + tail + body)


def _whole(frame: bytes) -> bytes:
    return frame + struct.pack("<I", zlib.crc32(frame))


class RadiotapWriter:
    """Writes frames to a pcap of link type 127.

    Parameters
    ----------
    path : str
    start_ns : int
        Zero of the monitor's card's clock.
    rate_bps, ack_rate_bps : int
        Of data frames and of all others.
    """

    def __init__(self, path: str, start_ns: int, rate_bps: int, ack_rate_bps: int) -> None:
        import dpkt

        self._file: IO[bytes] = open(path, "wb")  # noqa: SIM115 - closed in close
        self._writer: Any = dpkt.pcap.Writer(self._file, snaplen=65_535, linktype=_LINKTYPE, nano=True)
        self._start_ns, self._rates = start_ns, (ack_rate_bps, rate_bps)

    def write(self, t_ns: int, side: int, frame: bytes) -> None:
        """Add a frame that `side` sent and that had arrived whole at `t_ns`."""
        rate = self._rates[frame[0] & 0x0C == 0x08]
        dsss = rate in _DSSS
        begin_us = (t_ns - self._start_ns) // 1000 - round(airtime_us(len(frame), rate))
        flags = _FCS_AT_END | (_SHORT_PREAMBLE if dsss and rate > 1_000_000 else 0)
        channel = (2437, 0x00A0) if dsss else (5180, 0x0140)
        fields = struct.pack("<QBBHHb", max(begin_us, 0), flags, rate // 500_000, *channel, _SIGNAL_DBM[side])
        header = struct.pack("<BBHI", 0, 0, 8 + len(fields), _PRESENT)
        self._writer.writepkt_time(header + fields + frame, Fraction(t_ns, 1_000_000_000))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> RadiotapWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
