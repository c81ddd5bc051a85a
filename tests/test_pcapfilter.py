"""Filters in pcap-filter's words: what they match, what binds closer, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from multitracer.api.pcapfilter import compiled
from multitracer.model.errors import UsageError

WEB = (("10.0.0.2", 40000), ("192.168.1.9", 443))
SSH = (("10.0.0.3", 40001), ("10.1.2.3", 22))
SIX = (("2001:db8::1", 40002), ("2001:db8::2", 443))
ALL = {"web": WEB, "ssh": SSH, "six": SIX}


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        ("", "web ssh six"),
        ("tcp", "web ssh six"),
        ("host 10.0.0.2", "web"),
        ("10.0.0.2", "web"),
        ("host 2001:0db8:0::1", "six"),
        ("net 10.0.0.0/8", "web ssh"),
        ("net 10", "web ssh"),
        ("net 10.1", "ssh"),
        ("net 192.168.1.0/24", "web"),
        ("net 2001:db8::/32", "six"),
        ("port 443", "web six"),
        ("tcp port 443", "web six"),
        ("ip6 and port 443", "six"),
        ("ip", "web ssh"),
        ("portrange 20-25", "ssh"),
        ("port 22 or 443", "web ssh six"),
        ("host 10.0.0.2 and port 443", "web"),
        ("host 10.0.0.2 && host 192.168.1.9", "web"),
        ("not port 443", "ssh"),
        ("! port 443", "ssh"),
        ("not (port 443 or port 22)", ""),
        # `and` and `or` bind alike, from left to right.
        ("port 22 or port 443 and host 10.0.0.3", "ssh"),
        ("port 22 or (port 443 and host 10.0.0.2)", "web ssh"),
        ("not port 22 and host 10.0.0.2", "web"),
    ],
)
def test_what_matches(text: str, matched: str) -> None:
    matches = compiled(text)
    assert " ".join(name for name, ends in ALL.items() if matches(ends)) == matched


@pytest.mark.parametrize(
    "text",
    [
        "host",
        "host example.org",
        "net 10.0.0.1/8",
        "net 10.0.0.0/99",
        "port 70000",
        "port http",
        "portrange 5-",
        "src host 10.0.0.1",
        "udp",
        "(port 80",
        "port 80)",
        "port 80 and",
        "and port 80",
        "port 80 | port 90",
        "not",
        "(" * 5000,
        "not " * 2000 + "tcp",
        "x" * 20_000,
    ],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--filter"):
        compiled(text)


WORDS = st.sampled_from(
    ("host", "net", "port", "portrange", "tcp", "ip", "ip6", "and", "or", "not")
) | st.sampled_from(("(", ")", "!", "&&", "10.0.0.2", "443", "10/8", "1-2", "::1", "x", "&"))


@given(st.lists(WORDS, max_size=12))
def test_any_words_end_in_a_filter_or_an_error(words: list[str]) -> None:
    try:
        matches = compiled(" ".join(words))
    except UsageError:
        return
    assert matches(WEB) in (True, False)
