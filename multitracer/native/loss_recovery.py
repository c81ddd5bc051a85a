"""Loss recoveries of senders, as their retransmissions and ACKs show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import multitracer._core as _core
from multitracer.native.grouped import whole

if TYPE_CHECKING:
    from multitracer.model.table import Array

    Columns = tuple[Array, Array, Array]


def recoveries(again: Columns, acks: Columns) -> Columns:
    """From the first retransmission until the ACK of all that was transmitted before it, one after the other.

    Parameters
    ----------
    again : three arrays of int64, shape (n,)
        Of each retransmission, sender after sender, each in order of time: the sender, from 0; when it was;
        and the highest byte that was sent until then, plus one.
    acks : three arrays of int64, shape (k,)
        Of each ACK, in the same order: the sender that it is for, when it came, and the highest byte that
        was acknowledged until then, plus one.

    Returns
    -------
    of, begin_ns, end_ns : array of int64
        The sender, begin and end of each; the end of all times without such an ACK.

    Raises
    ------
    ValueError
        Columns of different lengths.

    References
    ----------
    RFC 6582 section 3.2 ("recover").
    """
    return _core.loss_recoveries(
        (whole(again[0]), whole(again[1]), whole(again[2])), (whole(acks[0]), whole(acks[1]), whole(acks[2]))
    )
