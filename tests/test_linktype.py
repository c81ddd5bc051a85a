"""The kind of a link, as data: what a log of it can tell, and words that both languages share."""

from __future__ import annotations

from multitracer import _core
from multitracer.model import linktype, schema
from multitracer.model.linktype import LinkType


def test_a_log_tells_what_it_does_not_lack() -> None:
    monitor = LinkType("wifi", "Wi-Fi", unit="packet", observer="monitor", lacks=frozenset({"flushes"}))
    assert [fact for fact in ("flushes", "arrivals") if monitor.tells(fact)] == ["arrivals"]
    assert not linktype.RLP.tells("airtime")


def test_codes_of_kinds_and_causes_are_the_same_in_the_core() -> None:
    assert tuple(_core.LINK_KINDS) == schema.LINK_KINDS
    assert tuple(_core.RESET_CAUSES) == schema.RESET_CAUSES
