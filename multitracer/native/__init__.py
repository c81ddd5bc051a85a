"""The Rust core, as the rest of the package sees it: typed, and with the package's errors.

One module for each kind of thing that is read. Nothing outside of this package imports `multitracer._core`.
"""

import multitracer._core as _core
from multitracer.native.call import (
    Scan as Scan,
)
from multitracer.native.captures import (
    Follow as Follow,
    IpPacket as IpPacket,
    RawPacket as RawPacket,
    bytes_covered_before as bytes_covered_before,
    capture_format as capture_format,
    continuation as continuation,
    ip_packets as ip_packets,
    packet as packet,
    packets as packets,
    read_capture as read_capture,
    read_dccp as read_dccp,
    sniff_dccp as sniff_dccp,
)
from multitracer.native.files import (
    Lines as Lines,
    forget as forget,
    head as head,
)
from multitracer.native.framing import (
    framed_sizes as framed_sizes,
    walk_anchors as walk_anchors,
)
from multitracer.native.links import (
    continuation_rlc as continuation_rlc,
    read_diag as read_diag,
    read_gsmtap as read_gsmtap,
    read_rlc as read_rlc,
    read_rlc_pair as read_rlc_pair,
    read_wifi as read_wifi,
    scan_pppd as scan_pppd,
    sniff_diag as sniff_diag,
    sniff_gsmtap as sniff_gsmtap,
    sniff_pppd as sniff_pppd,
    sniff_rlc as sniff_rlc,
    sniff_wifi as sniff_wifi,
    track_rlc as track_rlc,
)
from multitracer.native.summaries import (
    are_summaries as are_summaries,
    connection_entries as connection_entries,
    digest as digest,
    endpoints as endpoints,
    overview as overview,
)
from multitracer.native.text import (
    SCANNERS as SCANNERS,
    scan as scan,
)
from multitracer.native.values import (
    json_nested_rows as json_nested_rows,
    json_rows as json_rows,
    json_text as json_text,
)

VERSION = _core.__version__
"""Of the package: Cargo.toml is where it is declared."""
