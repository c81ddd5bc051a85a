"""What can go wrong: one exception tree, and issues for damage that does not stop the work."""

from __future__ import annotations

from typing import Literal, NamedTuple

from multitracer.model.frozen import frozen

Severity = Literal["info", "warning", "error"]


class MultiTracerError(Exception):
    """Base of every error that MultiTracer raises on purpose."""


class UnreadableFile(MultiTracerError):
    """A file that cannot be opened or read (missing, no permission, a directory, an I/O error)."""


class UnknownFormat(MultiTracerError):
    """No parser claims the file, or two do; the message lists what was tried."""


class UnmappedTable(UnknownFormat):
    """A table of columns with titles that are not known; a column map makes it a trace."""


class CorruptTrace(MultiTracerError):
    """The format is known, but nothing in the file can be used."""


class NothingToRead(MultiTracerError):
    """A directory, or a list of paths, without one readable trace."""


class TooManyConnections(Exception):
    """A capture has more connections than its caller keeps all segments of, and is read another way."""


class AlignmentError(MultiTracerError):
    """Sources that cannot be put on one timeline: the same capture twice, or clocks given wrongly."""


class UsageError(MultiTracerError):
    """A request that makes no sense: an unknown series, an empty time window, a bad setting."""


class IssueKind(NamedTuple):
    """One entry of the closed list of issues."""

    code: str
    severity: Severity
    meaning: str
    advice: str


@frozen
class Issue:
    """Damage or doubt found while reading or aligning; the data around it is kept.

    Attributes
    ----------
    code : str
        Key into `ISSUE_KINDS`.
    count : int
        How many records show it.
    first_record : int
        Packet or line number (from 1) of the first; 0 if no single record is to blame.
    detail : str
        Words about the first occurrence.
    path : str
        The file, or "" if the issue is about several.
    """

    code: str
    count: int = 1
    first_record: int = 0
    detail: str = ""
    path: str = ""

    @property
    def kind(self) -> IssueKind:
        """The documented entry of this issue's code."""
        return ISSUE_KINDS[self.code]

    def to_dict(self) -> dict[str, object]:
        """As printed by ``--json``."""
        return {
            "code": self.code,
            "severity": self.kind.severity,
            "count": self.count,
            "first_record": self.first_record,
            "detail": self.detail,
            "advice": self.kind.advice,
            "path": self.path,
        }


def _kinds(*kinds: IssueKind) -> dict[str, IssueKind]:
    return {kind.code: kind for kind in kinds}


ISSUE_KINDS: dict[str, IssueKind] = _kinds(
    # files
    IssueKind(
        "skipped-file",
        "info",
        "A file of the directory is not a trace; it was left out.",
        "Nothing to do; if it is a trace, name its format with --format FILE=NAME.",
    ),
    IssueKind(
        "unmapped-table",
        "info",
        "A file of the directory is a table whose columns are not known; it was left out.",
        "If it belongs to the transfer: info --map FILE prints a column map (docs/formats/csv.md).",
    ),
    IssueKind(
        "unreadable-file",
        "error",
        "A trace of the directory could not be read; the others were.",
        "See the reason; copy the file again or leave it out.",
    ),
    # captures
    IssueKind(
        "truncated-file",
        "error",
        "The file ends inside a record or a compressed stream; everything before is kept.",
        "Was the capture still being written, or the disk full? Copy the file again.",
    ),
    IssueKind(
        "bad-record",
        "error",
        "A record's header makes no sense (impossible length or block); reading stopped there.",
        "The file is damaged from this record on; repair it with pcapfix, or capture again.",
    ),
    IssueKind(
        "file-replaced",
        "error",
        "The file became shorter while it was followed: another file replaced it.",
        "Let the writer make a new file for each capture, and follow the new one.",
    ),
    IssueKind(
        "forgotten-connections",
        "warning",
        "More connections than are kept while a capture is followed; those idle longest are left out.",
        "Keep more with --max-connections, or write the capture into a file and analyse that.",
    ),
    IssueKind(
        "bad-block",
        "warning",
        "A pcapng block contradicts itself or names an unknown interface; it was left out.",
        "The writer of the capture is faulty, or the file damaged; see the record in Wireshark.",
    ),
    IssueKind(
        "decompression-limit",
        "error",
        "The decompressed size of a file exceeds the limit; reading stopped there.",
        "If the file can be trusted, set MULTITRACER_MAX_RATIO to a larger ratio, or decompress it first.",
    ),
    IssueKind(
        "no-packet-time",
        "warning",
        "Packets without a time stamp (pcapng simple packet blocks); they got the time of the one before.",
        "Capture into enhanced packet blocks; nothing that depends on time can be trusted.",
    ),
    IssueKind(
        "capture-drops",
        "warning",
        "The capture's own statistics report that packets were dropped.",
        "Raise the capture buffer (tcpdump -B), cut the snap length, write to a faster disk.",
    ),
    IssueKind(
        "snaplen-cut",
        "info",
        "Packets were captured only in part; lengths are taken from the headers.",
        "Nothing to do: payload is not needed. TCP checksums cannot be verified.",
    ),
    IssueKind(
        "options-cut",
        "warning",
        "The snap length cut TCP headers: options (SACK, timestamps) are missing from some segments.",
        "Capture with tcpdump -s 128 or more.",
    ),
    IssueKind(
        "bad-timestamp",
        "warning",
        "A sub-second field of a second or more (carried over), or a time outside 1823 to 2116 (limited).",
        "The writer of the capture is faulty; check the times.",
    ),
    IssueKind(
        "time-backwards",
        "warning",
        "A record is older than the one before it.",
        "Several interfaces or CPUs, or a clock set back, cause this; reordercap sorts the records.",
    ),
    IssueKind(
        "malformed-packet",
        "warning",
        "A packet's headers contradict each other (length, offsets); it was counted, not decoded.",
        "See the record in Wireshark; many of them mean a damaged file or a wrong link type.",
    ),
    IssueKind(
        "unsupported-link-type",
        "error",
        "The capture's link type is not decoded.",
        "Convert with editcap -T, or capture on another interface; docs/formats/pcap.md lists the types.",
    ),
    IssueKind(
        "too-many-connections",
        "info",
        "Too many connections to keep every segment: a summary, with the worst and the largest.",
        "Up to 100,000 use --full; beyond that, extract a part: tcpdump -r FILE -w PART 'host ADDRESS'.",
    ),
    IssueKind(
        "unopened-encapsulation",
        "warning",
        "Packets in an encapsulation that is not decoded: their contents are not analysed.",
        "Capture after the encapsulation is removed, where packets are neither encrypted nor fragmented.",
    ),
    IssueKind(
        "bad-tcp-checksum",
        "warning",
        "TCP segments whose checksum is wrong over all their bytes.",
        "At the receiver: damaged, e.g. by a failed header decompressor. At the sender: checksum offload.",
    ),
    IssueKind(
        "duplicate-record",
        "warning",
        "The same packet was captured twice (capture on `any`, mirrored port); the copies are not counted.",
        "Capture on one interface.",
    ),
    IssueKind(
        "missing-handshake",
        "info",
        "The handshake of a connection is not in the capture, which began later or saw one direction: "
        "window scale and ISN are unknown.",
        "Start the capture before the transfer.",
    ),
    IssueKind(
        "capture-loss",
        "warning",
        "Data was acknowledged that is not in the capture: the capture lost packets.",
        "Raise the capture buffer (tcpdump -B), cut the snap length, write to a faster disk.",
    ),
    # text logs
    IssueKind(
        "unparsed-line",
        "warning",
        "A line is not of the format; it was skipped.",
        "Look at the line; output of another program often gets into logs.",
    ),
    IssueKind(
        "unclear-sequence",
        "warning",
        "Packet numbers of a simulated connection jump as if they were bytes: offsets are unreliable.",
        "ns-2's two-way agents (FullTcp) count bytes: let them write headers (show_tcphdr_ of the trace).",
    ),
    IssueKind(
        "unknown-verb",
        "info",
        "A link event that is unknown to this version; it was kept as an opaque event.",
        "Nothing to do; the event is in the table under its original name.",
    ),
    IssueKind(
        "lost-events",
        "warning",
        "The log itself reports that events were lost (ring buffer overrun).",
        "Enlarge the trace buffer (buffer_size_kb), or filter events in the kernel.",
    ),
    IssueKind(
        "out-of-order-lines",
        "info",
        "Lines are not in time order; they were sorted.",
        "Nothing to do.",
    ),
    IssueKind(
        "no-timestamp",
        "warning",
        "Samples before the first time stamp; they were skipped.",
        "Print the time before each sample (date +%s.%N).",
    ),
    IssueKind(
        "line-too-long",
        "warning",
        "A line beyond the length limit; it was skipped.",
        "Probably not a text log.",
    ),
    IssueKind(
        "bad-number",
        "warning",
        "A number out of range or malformed; the line was skipped.",
        "Look at the line.",
    ),
    IssueKind(
        "unknown-version",
        "info",
        "A version of the format that is unknown to this program; the fields of older versions were read.",
        "Compare a value with the tool that wrote it; name the columns in measurement.toml where it is read.",
    ),
    IssueKind(
        "guessed-unit",
        "info",
        "The unit of a column is not in the file; it was guessed from the other columns.",
        'State it in measurement.toml: [sources."FILE"] units = { COLUMN = "us" }.',
    ),
    IssueKind(
        "unknown-unit",
        "warning",
        "The unit of a column is not in the file and cannot be guessed; the column was left out.",
        'State it in measurement.toml: [sources."FILE"] units = { COLUMN = "us" }.',
    ),
    IssueKind(
        "no-date",
        "warning",
        "Times of day without a date and a zone: the log keeps its own clock.",
        "State its offset in measurement.toml (clock_offset_s), or record with full time stamps.",
    ),
    IssueKind(
        "bad-frame",
        "warning",
        "A link frame is damaged (frame check sequence, length); it was left out.",
        "Errors on the air or the line cause this; many of them indicate another frame format.",
    ),
    IssueKind(
        "missing-frames",
        "warning",
        "Sequence numbers show that frames or PDUs of the link are missing from the log.",
        "Was the log cut, or the logger too slow? Frames that the link gave up at a reset are missing too.",
    ),
    IssueKind(
        "bad-message",
        "warning",
        "A message of a modem's log lacks fields or contradicts itself; it was left out.",
        "The log was cut or changed, or is of another version; export it to XML with MobileInsight.",
    ),
    IssueKind(
        "unknown-message",
        "warning",
        "A message of a modem's log has a layout that is not known; it was left out.",
        "Export the log with MobileInsight to XML (docs/formats/mobileinsight.md), and read that.",
    ),
    IssueKind(
        "not-seen",
        "info",
        "A monitor missed frames that the link sent; these do not count as lost.",
        "Put the monitor closer, on the right channel and width, with an antenna for every stream.",
    ),
    IssueKind(
        "block-ack-unread",
        "info",
        "A block ACK of a reserved kind, cut short, or to a station whose association was not seen; what it "
        "acknowledged is unknown.",
        "Capture from before the stations associate, without a snap length that cuts control frames.",
    ),
    IssueKind(
        "header-desync",
        "warning",
        "A header decompressor lost its state: TCP headers after this place cannot be restored.",
        "An earlier frame was damaged or lost; without VJ compression (pppd novj) only that packet is lost.",
    ),
    # alignment
    IssueKind(
        "unjoined-source",
        "warning",
        "A source shares nothing with the others and stays on its own clock.",
        "Does it belong to this transfer? State its clock in measurement.toml.",
    ),
    IssueKind(
        "same-link",
        "info",
        "Frames of a link log are also in another log of the same link; they are counted once.",
        "Nothing to do; analyse one of them alone to see only its frames.",
    ),
    IssueKind(
        "split-connection",
        "warning",
        "Connections of two captures have the same bytes and no common packet: a proxy between them ends one "
        "and opens another, or they are of two runs.",
        "Each is analysed alone. Capture both sides of the proxy to see what it does.",
    ),
    IssueKind(
        "identical-sources",
        "error",
        "Two sources hold the same records: the same capture was given twice.",
        "Give the capture of the other end.",
    ),
    IssueKind(
        "clock-step",
        "warning",
        "The clock of a source jumped within the measurement.",
        "Disable NTP stepping during measurements.",
    ),
    IssueKind(
        "wide-clock-bound",
        "info",
        "The offset between the clocks of two sources is known only to a wide bound (path asymmetry).",
        "Times of events in these sources can be compared only beyond the bound.",
    ),
    IssueKind(
        "inconsistent-metadata",
        "warning",
        "measurement.toml and the traces contradict each other.",
        "Correct measurement.toml.",
    ),
    IssueKind(
        "foreign-flow",
        "info",
        "A log contains flows that are in no capture of this measurement.",
        "Nothing to do; they are not part of any connection. A recorded kernel logs all network namespaces.",
    ),
)
