"""What the compiled core offers. All times are nanoseconds; OSError and ValueError are its only errors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

__version__: str
LINK_KINDS: list[str]
RESET_CAUSES: list[str]
DCCP_TYPES: list[str]

# text logs

_Columns: TypeAlias = dict[str, npt.NDArray[np.signedinteger[Any]]]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Issue: TypeAlias = tuple[str, int, int, str]
"""Code, count, first record, detail."""

_Field: TypeAlias = tuple[str, str, _Ints | list[str] | None]

_TextScan: TypeAlias = tuple[dict[str, _Columns], list[_Issue], dict[str, Any]]
"""Columns by table, issues, facts (always ``lines`` and ``resolution_ns``)."""

def head(path: str, count: int) -> bytes: ...
def forget(path: str) -> None: ...

TEXT_SCANNERS: list[str]

def scan_text(name: str, path: str, settings: dict[str, Any] | None = None) -> _TextScan:
    """A log through one of TEXT_SCANNERS, as the settings say.

    Tables and facts are those that the scanner's file in ``rust/core/src/text/`` makes a ``Found`` of; its
    ``configured`` names its settings. Flows are a list of (address, port, address, port), local end first.
    Of simulations the fact ``ends`` besides: what each host or end saw, as `read_capture` has it.
    """

@final
class TextLines:
    """Lines of a file."""

    def __new__(cls, path: str, longest: int | None = None) -> Self: ...
    def batch(self, bytes: int) -> list[tuple[int, bytes]]:
        """Some more lines with their numbers; none at the end."""

    def issues(self) -> list[_Issue]: ...

# captures of link frames

def sniff_dccp(head: bytes) -> bool: ...
def read_dccp(path: str) -> _TextScan: ...
def sniff_gsmtap(head: bytes) -> bool: ...
def read_gsmtap(path: str, uplink_is_mobile: bool, n2: int | None = None) -> _TextScan:
    """Facts: rlp_frames, held_off, other_types, tcp (packets)."""

def sniff_pppd(head: bytes) -> bool: ...
def scan_pppd(path: str) -> _TextScan:
    """Facts: protocols (frames by name), octets and wrong_headers ([sent, received]), started."""

# values of many groups in one column, group behind group

def highest_in_group(of: _Ints, values: _Ints) -> _Ints:
    """For each row, the highest value of its group up to and with it."""

def advancing_in_group(of: _Ints, values: _Ints) -> npt.NDArray[np.bool_]:
    """The rows whose value is higher than all before in their group."""

def places_in_group(known: tuple[_Ints, _Ints], wanted: tuple[_Ints, _Ints], right: bool) -> _Ints:
    """Where (group, value) pairs would be inserted among others, which ascend."""

# what senders had in the network; see multitracer.native.in_flight

_Small: TypeAlias = npt.NDArray[np.int32]
_Flags: TypeAlias = npt.NDArray[np.bool_]
_Sent: TypeAlias = tuple[_Ints, _Ints, _Ints, _Ints, _Small, _Small, _Flags, _Ints]
_Received: TypeAlias = tuple[_Ints, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.int8], _Flags]

def in_flight_steps(
    count: int, data: _Sent, acks: _Received, recoveries: tuple[_Ints, _Ints, _Ints]
) -> tuple[_Ints, _Ints, _Ints]:
    """Row, FlightSize and pipe of every step."""

def loss_recoveries(
    again: tuple[_Ints, _Ints, _Ints], acks: tuple[_Ints, _Ints, _Ints]
) -> tuple[_Ints, _Ints, _Ints]:
    """Sender, begin and end of each recovery; see multitracer.native.loss_recovery."""

# the bottleneck of a transfer; see multitracer.native.bottleneck

def bottleneck_rates(
    in_ns: _Ints, out_ns: _Ints, size: _Ints, smallest_ns: int, still_ns: int
) -> tuple[float, float]: ...
def bottleneck_served(in_ns: _Ints, size: npt.NDArray[np.float64], rate: float) -> _Ints: ...
def bottleneck_busy(in_ns: _Ints, out_ns: _Ints, rest_ns: int) -> _Ints:
    """Begins and ends in turn."""

def bottleneck_passages(
    columns: tuple[_Ints, _Ints, _Ints, _Small, _Small, _Small, npt.NDArray[np.int8]],
    data: _Bounds,
    acks: _Bounds,
    full: _Ints,
    few: int,
) -> tuple[_Ints, _Ints, _Ints, npt.NDArray[np.float64]]:
    """Columns: t_ns, seq, ack, length, duplicate, ip_length, checksum; see multitracer.native.passages."""

def part_sent_later(
    of: _Ints, seq: _Ints, length: _Small, duplicate: _Small, full: _Ints
) -> npt.NDArray[np.float64]: ...

# what held senders back; see multitracer.native.limits

_Bounds: TypeAlias = tuple[_Ints, _Ints]
_SenderColumns: TypeAlias = tuple[_Ints, _Ints, _Ints, _Ints, _Small, _Small, _Small, npt.NDArray[np.int8]]
"""t_ns, record, seq, ack, length, duplicate, window, checksum"""
_Phases: TypeAlias = tuple[_Ints, _Ints, _Ints, npt.NDArray[np.int8], _Ints, _Ints, _Ints]
"""connection, t_ns, end_ns, limit, outstanding, room, record"""

def limit_phases(columns: _SenderColumns, data: _Bounds, acks: _Bounds, until_ns: _Ints) -> _Phases: ...
def limits_longest(
    columns: _SenderColumns, data: _Bounds, acks: _Bounds, until_ns: _Ints, most: int
) -> tuple[_Ints, _Ints, _Flags, _Phases]:
    """Of each connection: phases, the sum of their lengths, whether a window is known; and the longest."""

def flights_in_short(
    columns: _SenderColumns,
    said: tuple[
        npt.NDArray[np.uint16], npt.NDArray[np.int8], npt.NDArray[np.int8], _Ints, npt.NDArray[np.int8]
    ],
    data: _Bounds,
    acks: _Bounds,
) -> tuple[list[_Ints], list[npt.NDArray[np.float64]]]:
    """Said: flags, cause, ack_kind, sack_high, sack_count; see multitracer.native.flight."""

def timestamp_echoes(
    columns: tuple[_Ints, _Ints, _Ints, _Ints, npt.NDArray[np.int8]], data: _Bounds, acks: _Bounds
) -> tuple[_Ints, _Ints, _Flags]:
    """Columns: t_ns, ack, ts_val, ts_ecr, checksum; see multitracer.native.echoes."""

def data_spans(
    columns: tuple[_Ints, _Ints, _Ints, _Small, npt.NDArray[np.int8]], data: _Bounds, acks: _Bounds
) -> tuple[_Ints, _Ints, _Flags]:
    """Columns: t_ns, seq, ack, length, checksum; see multitracer.native.spans."""

# captures

def sniff_diag(head: bytes) -> bool: ...
def read_diag(path: str, xml: bool) -> _TextScan:
    """Table pdus; facts: messages (by code or name), sn_bits (by ue and bearer)."""

def sniff_rlc(head: bytes) -> bool: ...
def read_rlc(
    paths: list[str], ue: int | None = None, bearer: str | None = None, view: str | None = None
) -> _TextScan:
    """Tables link_frames, link_events, link_radio; facts: counts, bearer, bearers, views, packets, tcp."""

def continuation_rlc(paths: list[str]) -> list[int] | None: ...
def read_rlc_pair(
    paths: tuple[list[str], list[str]],
    choices: tuple[tuple[int | None, str | None, str | None], tuple[int | None, str | None, str | None]],
) -> tuple[_TextScan, _TextScan] | None:
    """As read_rlc, of two captures of one bearer; facts: shared_pdus besides."""

def track_rlc(
    sn_bits: int,
    view: str,
    t_ns: npt.NDArray[np.int64],
    record: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int64],
    flags: npt.NDArray[np.int64],
    sn: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
) -> _TextScan:
    """Tables link_frames, link_events."""

def sniff_wifi(head: bytes) -> bool: ...
def read_wifi(paths: list[str], station: bytes | None = None, retry_limit: int | None = None) -> _TextScan:
    """Tables link_frames, link_events, link_radio, link_air.

    Facts: counts, links, link_count, retry_limit, repeats, span, arrivals, air_step_ns.
    """

def capture_format(head: bytes) -> str | None: ...
def read_capture(
    paths: list[str],
    keep_segments: bool,
    report: Callable[[int], None] | None = None,
    skip: list[int] = ...,
    most: int | None = None,
    meanwhile: Callable[[], bool] | None = None,
) -> dict[str, Any] | None:
    """Keys: info (dict), issues (of _Issue), connections (dicts; a list with `keep_segments`), tables.

    None if there are more than `most` connections; `meanwhile` is called while the core reads, and again
    as long as it returns true.
    """

@final
class Follow:
    """A capture that is followed while it is written; `connections` is how many are kept at most."""

    def __new__(cls, path: str, keep_segments: bool, connections: int) -> Self: ...
    def wait(self, seconds: float) -> bool:
        """Whether the end has come."""

    def stop(self) -> None: ...
    def snapshot(self, busiest: int) -> dict[str, Any]:
        """What was read so far.

        Keys: records, tcp_segments, bytes_read, first_ns, last_ns, sums, forgotten, active, new_bytes,
        busiest.
        """

    def finish(self) -> dict[str, Any]:
        """As `read_capture`."""

    def close(self) -> None: ...

@final
class Summaries(Sequence[dict[str, Any]]):
    """The connections of a capture that was read without tables; each dictionary is made at every access."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[dict[str, Any]]: ...
    def overview(self) -> tuple[int | None, int | None]:
        """Time of the first segment, index of the one with most payload in one direction."""

    def endpoints(self) -> list[list[tuple[str, int]]]:
        """Address and port of both ends of each."""

    def digest(self, most: int) -> dict[str, Any]:
        """As `multitracer.output.digest.digest`, with the worst and the largest `most`."""

    def entries(self, source: str, point: str, t0_ns: int, flat: bool) -> Iterator[bytes]:
        """Entries of `connections` in docs/json.md, piece by piece; `source` and `point` are JSON."""

def framed_sizes(
    packets: list[tuple[int, bytes]],
    address: bool,
    short_protocol: bool,
    flags: int,
    accm: int,
    vj: tuple[bool, bool] | None,
) -> tuple[_Ints, _Ints]:
    """Sizes that are certain, and bytes that may be escaped; `vj`: slots left out, special cases used."""

def walk_anchors(
    packets: tuple[_Ints, _Ints, _Ints], anchors: tuple[_Ints, _Ints, _Ints], begin: int, rate: float
) -> tuple[_Ints, _Ints, int, int]:
    """Boundaries, their errors, anchors met and missed.

    Of sizes, bytes that may be escaped and pauses; of offsets with the least and the most packets.
    """

def json_text(value: object, level: int) -> str:
    """As json.dumps with an indent of 2, for a place `level` steps inside."""

def json_rows(fields: list[_Field], t0_ns: int, level: int) -> list[str]:
    """Rows of a table as JSON objects: key, kind and values of each column."""

def json_nested_rows(fields: list[_Field], inner: list[_Field], bounds: _Ints, t0_ns: int, level: int) -> str:
    """Rows as entries of a list; a column of kind ``rows`` holds rows of `inner`, by `bounds`."""

def bytes_covered_before(first: _Ints, length: _Ints) -> _Ints:
    """Of each stretch of bytes, how many an earlier one had."""

def continuation(paths: list[str]) -> list[int] | None:
    """The order in which captures continue each other."""

def ip_packets(paths: list[str], content: bytes | None = None) -> list[tuple[int, int, bytes]] | None:
    """Record, length on the wire, bytes."""

@final
class RawPackets:
    """All records of a capture, or those of some numbers."""

    def __new__(cls, paths: list[str], wanted: list[int] | None = None) -> Self: ...
    def batch(self, bytes: int) -> list[tuple[int, int, int, bytes, int]]:
        """Number, time, original length, bytes kept, link type; none at the end."""

def packet(paths: list[str], record: int) -> tuple[int, int, bytes, int] | None:
    """Time, original length, bytes kept, link type."""
