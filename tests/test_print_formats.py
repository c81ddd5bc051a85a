"""Events of tracepoints as their own formats write them, and formats that nobody vouches for."""

from __future__ import annotations

import struct

import pytest
import support_tracedat as made

from multitracer.parsers._helpers import cexpression, printformat
from multitracer.parsers._helpers.eventformat import event_format

FIELDS = (
    "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:u16 b;\toffset:12;\tsize:2;\tsigned:0;\n"
    "\tfield:void * p;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] s;\toffset:24;\tsize:4;\tsigned:0;\n"
    "\tfield:__rel_loc char[] r;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:__u8 v4[4];\toffset:32;\tsize:4;\tsigned:0;\n"
    "\tfield:__u8 v6[16];\toffset:36;\tsize:16;\tsigned:0;\n"
)
RECORD = (
    bytes(8)
    + struct.pack("<iHHQ", -2, 0x1234, 0, 0xFFFF888100000000)
    + struct.pack("<II", 5 << 16 | 52, 3 << 16 | (57 - 32))
    + bytes([10, 0, 0, 1])
    + bytes.fromhex("20010db8000000000000000000000001")
    + b"eth0\0lo\0"
)


def shown(print_fmt: str, record: bytes = RECORD) -> str:
    known = event_format("tcp", made.format_file("some", 1, FIELDS, print_fmt))
    assert known is not None
    return printformat.compiled(known.print_fmt, known.fields, "<", 8)(record)


@pytest.mark.parametrize(
    ("print_fmt", "text"),
    [
        ('"nothing"', "nothing"),
        ('"a=%d b=%u 100%%", REC->a, REC->b', "a=-2 b=4660 100%"),
        (
            '"%u %x %#x %llu", REC->a, REC->a, REC->b, REC->p',
            f"4294967294 fffffffe 0x1234 {0xFFFF888100000000}",
        ),
        ('"%5d|%-5d|%05u", REC->a, REC->a, REC->b', "   -2|-2   |04660"),
        ('"%p %s %s", REC->p, __get_str(s), __get_rel_str(r)', "0xffff888100000000 eth0 lo"),
        ('"%pI4 %pI6c", REC->v4, REC->v6', "10.0.0.1 2001:db8::1"),
        ('"%s", REC->a < 0 ? "less" : "more"', "less"),
        ('"%d", !(REC->b & 1) ? REC->a : 7', "-2"),
        ('"%d %d", 1 + 2 * 3 << 1, -7 / 2', "14 -3"),
        ('"%d %d", (REC->b >> 4) % 16, ~REC->a', "3 1"),
        ('"%d", ((u8)REC->b)', "52"),
        ('"%d", (s8)0xff', "-1"),
        ('"%lu", (unsigned long)REC->a', "18446744073709551614"),
        ('"%s", __print_symbolic(REC->b, { 0x1234, "YES" }, { 1, "NO" })', "YES"),
        ('"%s", __print_symbolic(REC->b, { UNKNOWN_NAME, "NO" }, { (1 << 2) | 3, "B" })', "0x1234"),
        ('"%s", __print_flags(REC->b, "|", { 0x4, "A" }, { 0x30, "B" })', "A|B|0x1200"),
        ('"%s %c", "one" "two", \'x\'', "onetwo x"),
        ('"%d", ntohs(REC->b)', "13330"),
        ('"%d", __get_dynamic_array_len(s)', "5"),
        ('"%999999999d", REC->a', "-2"),
        ('"%pS.", REC->p', "0xffff888100000000."),
        ('"%.3s|%6s", __get_str(s), __get_rel_str(r)', "eth|    lo"),
    ],
)
def test_texts(print_fmt: str, text: str) -> None:
    assert shown(print_fmt) == text


@pytest.mark.parametrize(
    "print_fmt",
    [
        "",
        "REC->a",
        '"%d"',
        '"%d", REC->none',
        '"%d", REC->a, @',
        '"%d", REC->a) + 1',
        '"%q", REC->a',
        '"%.*s", 3, __get_str(s)',
        '"%d", __import__("os")',
        '"%d", ' + "(" * 5000 + "1",
        '"%d", ' + "-" * 5000 + "1",
        '"%d", ' + "1 ? " * 5000 + "1",
        '"%s", __print_symbolic(REC->a, { 1 "x" })',
        '"unended',
        '"' + "x" * (1 << 19) + '"',
    ],
)
def test_what_cannot_be_followed_is_refused(print_fmt: str) -> None:
    with pytest.raises(cexpression.Unsupported):
        shown(print_fmt)


@pytest.mark.parametrize(
    ("print_fmt", "record"),
    [
        ('"%d", REC->a', b"short"),
        ('"%d", 1 / (REC->a + 2)', RECORD),
        ('"%s", __get_str(s)', RECORD[:40]),
        ('"%d", __get_str(s)', RECORD),
        ('"%pI4", REC->a', RECORD),
        ('"%pISpc", REC->v4', RECORD),
        ('"%s", REC->a', RECORD),
    ],
)
def test_records_that_contradict_their_format(print_fmt: str, record: bytes) -> None:
    with pytest.raises((ValueError, struct.error, IndexError)):
        shown(print_fmt, record)


def test_numbers_stay_small() -> None:
    """Whatever a file computes, it is 64 bits in the end, and soon there."""
    assert shown('"%llu", ' + " * ".join(["REC->p"] * 40)) == "0"
    assert shown('"%llu", ' + "1 << 63" + " << 63" * 40).isdigit()


def test_strings_of_an_event_stay_on_its_line() -> None:
    assert shown('"%s|", __get_str(s)', RECORD.replace(b"eth0", b"e\nh\x1b")) == "e h |"
