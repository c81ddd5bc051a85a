"""C expressions over the fields of a tracepoint's event, parsed into functions of its record.

What kernels write after ``print fmt:``: arithmetic, comparisons, ``?:``, casts, and the macros that name
values (``__print_symbolic``). Numbers stay within 64 bits, nesting and length have limits, nothing is
executed.

Reference: ISO C (6.5, expressions), Linux ``include/trace/stages/stage3_trace_output.h``.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from multitracer.parsers._helpers.eventformat import Field

Getter = Callable[[bytes], Any]
"""The value of an expression, by the bytes of an event's record: int, str or bytes."""

_MOST_TOKENS = 50_000
_DEEPEST = 60
_ALL = (1 << 64) - 1
_MOST_SHOWN = 256
"""Bytes of an array that are written out."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+)(?:[uUlL]{0,3})|(?P<name>[A-Za-z_]\w*)|(?P<string>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<char>'(?:[^'\\]|\\.)')|(?P<sign>->|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%&|^~!()\[\]{},?:.<>]))",
    re.ASCII | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}
_TYPE_WORDS = frozenset(
    {
        *("unsigned", "signed", "char", "short", "int", "long", "const", "volatile", "struct", "enum"),
        *("union", "void", "bool", "_Bool", "size_t", "ssize_t", "gfp_t", "dev_t", "pid_t", "ktime_t"),
    }
)
_TYPE_NAME = re.compile(r"_{0,2}(?:[us]|be|le|u?int)(8|16|32|64)(?:_t)?", re.ASCII)
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _divided(a, b), "%": lambda a, b: a - b * _divided(a, b)},
)


class Unsupported(ValueError):
    """A ``print fmt`` that cannot be followed: another tracer's macro, or no C at all."""


class _Token(NamedTuple):
    kind: str
    text: str


def call_arguments(
    text: str, fields: Mapping[str, Field], order: str, long_bytes: int
) -> tuple[str, list[Getter]]:
    """The format of a printf and its arguments.

    Parameters
    ----------
    text : str
        ``"format", argument, ...``
    fields : mapping of str to Field
        What ``REC->name`` may name.
    order : {"<", ">"}
        Byte order, as of `struct`.
    long_bytes : int
        Size of a ``long``.

    Returns
    -------
    str, list of callable
        The format with its escapes undone, and by argument a function of the record.

    Raises
    ------
    Unsupported
    """
    parser = _Parser(text, fields, order, long_bytes)
    literal = parser.string()
    getters = []
    while parser.took(","):
        getters.append(parser.expression())
    if parser.left():
        raise Unsupported("more than a format and its arguments")
    return literal, getters


def signed(value: Any, bits: int) -> int:
    """The lower bits of a number in two's complement.

    Raises
    ------
    ValueError
        If it is no number.
    """
    if not isinstance(value, int):
        raise ValueError("not a number")
    low: int = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise ValueError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or len(found) >= _MOST_TOKENS:
            raise Unsupported(f"no C expression: {text[at : at + 20]!r}")
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind]))
        at = match.end()
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)


class _Parser:
    """A recursive descent, one method for each kind of expression."""

    def __init__(self, text: str, fields: Mapping[str, Field], order: str, long_bytes: int) -> None:
        self._tokens = _tokens(text)
        self._fields, self._order, self._long = fields, order, long_bytes
        self._at = 0
        self._depth = 0

    def left(self) -> bool:
        return self._at < len(self._tokens)

    def took(self, sign: str) -> bool:
        """Whether the next token is this sign, which is taken then."""
        token = self._peek()
        if token.kind == "sign" and token.text == sign:
            self._at += 1
            return True
        return False

    def string(self) -> str:
        """One or more adjacent literals."""
        parts = []
        while self._peek().kind == "string":
            parts.append(_unquoted(self._next().text))
        if not parts:
            raise Unsupported("no string")
        return "".join(parts)

    def expression(self) -> Getter:
        """Anything up to a comma."""
        self._deeper()
        try:
            condition = self._either()
            if not self.took("?"):
                return condition
            yes = self.expression()
            self._need(":")
            return _chosen(condition, yes, self.expression())
        finally:
            self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unsupported("expressions within expressions beyond the limit")

    def _peek(self, ahead: int = 0) -> _Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _Token("end", "")

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _need(self, sign: str) -> None:
        if not self.took(sign):
            raise Unsupported(f"{sign} is missing before {self._peek().text[:20]!r}")

    def _either(self) -> Getter:
        left = self._both()
        while self.took("||"):
            left = _logical(left, self._both(), any)
        return left

    def _both(self) -> Getter:
        left = self._level(0)
        while self.took("&&"):
            left = _logical(left, self._level(0), all)
        return left

    def _level(self, level: int) -> Getter:
        if level == len(_LEVELS):
            return self._unary()
        signs = _LEVELS[level]
        left = self._level(level + 1)
        while (token := self._peek()).kind == "sign" and token.text in signs:
            self._at += 1
            left = _computed(signs[token.text], left, self._level(level + 1))
        return left

    def _unary(self) -> Getter:
        self._deeper()
        try:
            token = self._peek()
            if token.kind == "sign" and token.text in "!~-+&*":
                self._at += 1
                inner = self._unary()
                if token.text in "+&*":
                    return inner  # an array is its own address; what a pointer points to is not in the file
                return _inverted(token.text, inner)
            if token == _Token("sign", "(") and (cast := self._cast()) is not None:
                return _narrowed(self._unary(), cast)
            return self._primary()
        finally:
            self._depth -= 1

    def _cast(self) -> int | None:
        """Bits of the type in brackets that is next, negative if signed, 0 of a pointer; None if none is."""
        ahead, words, pointer = 1, [], False
        while (token := self._peek(ahead)).kind == "name" or token.text == "*":
            pointer |= token.text == "*"
            words.append(token.text)
            ahead += 1
        if not words or token.text != ")" or ahead > 8:
            return None
        plain = [word for word in words if word != "*"]
        if not pointer and not any(w in _TYPE_WORDS or _TYPE_NAME.fullmatch(w) for w in plain):
            return None
        if self._peek(ahead + 1).kind == "end" or self._peek(ahead + 1).text in (")", ","):
            return None
        self._at += ahead + 1
        return 0 if pointer else self._bits(plain)

    def _bits(self, words: list[str]) -> int:
        for word in words:
            if found := _TYPE_NAME.fullmatch(word):
                return int(found[1]) * (-1 if word.lstrip("_").startswith(("s", "int")) else 1)
        if "char" in words:
            bits = 8
        elif "short" in words:
            bits = 16
        elif "long" in words:
            bits = 64 if words.count("long") > 1 else 8 * self._long
        elif {"int", "unsigned", "signed", "enum", "pid_t"} & set(words):
            bits = 32
        else:
            return 0
        return bits if "unsigned" in words else -bits

    def _primary(self) -> Getter:
        token = self._next()
        if token.kind == "number":
            number = int(token.text, 16 if token.text[:2] in ("0x", "0X") else 10) & _ALL
            return lambda record: number
        if token.kind == "char":
            code = ord(_unquoted(token.text))
            return lambda record: code
        if token.kind == "string":
            self._at -= 1
            text = self.string()
            return lambda record: text
        if token == _Token("sign", "("):
            inner = self.expression()
            self._need(")")
            return inner
        if token.kind == "name":
            if token.text == "REC":
                self._need("->")
                return self._field(self._next().text).getter(self._order)
            if self.took("("):
                return self._call(token.text)
        raise Unsupported(f"unknown here: {token.text[:40]!r}")

    def _field(self, name: str) -> Field:
        if name not in self._fields:
            raise Unsupported(f"no field {name[:40]!r}")
        return self._fields[name]

    def _call(self, name: str) -> Getter:
        if name in ("__get_str", "__get_rel_str", "__get_dynamic_array", "__get_rel_dynamic_array"):
            return self._named_field().getter(self._order)
        if name in ("__get_sockaddr", "__get_rel_sockaddr"):
            return self._named_field().getter(self._order)
        if name in ("__get_dynamic_array_len", "__get_rel_dynamic_array_len"):
            whole = self._named_field().getter(self._order)
            return lambda record: len(whole(record))
        if name.startswith("__print_symbolic"):
            value = self.expression()
            return _symbolic(value, self._pairs())
        if name.startswith("__print_flags"):
            value = self.expression()
            self._need(",")
            between = self.string()
            return _flags(value, between, self._pairs())
        if name in ("__print_hex", "__print_hex_str"):
            value = self.expression()
            self._need(",")
            self.expression()
            self._need(")")
            return lambda record: bytes(value(record))[:_MOST_SHOWN].hex(" ")
        if name in ("ntohs", "__ntohs", "be16_to_cpu", "__be16_to_cpu", "htons"):
            value = self.expression()
            self._need(")")
            return _swapped(value) if self._order == "<" else value
        raise Unsupported(f"unknown macro {name[:40]!r}")

    def _named_field(self) -> Field:
        field = self._field(self._next().text)
        self._need(")")
        return field

    def _pairs(self) -> dict[int, str]:
        """``, { value, "name" }, ... )`` of a macro; pairs whose value is not a number are left out."""
        found: dict[int, str] = {}
        while self.took(","):
            self._need("{")
            value = self._constant()
            self._need(",")
            name = self.string()
            self._need("}")
            if isinstance(value, int):
                found.setdefault(value & _ALL, name)
        self._need(")")
        return found

    def _constant(self) -> Any:
        """The value of an expression without fields; None if it has any, or names that are not resolved."""
        try:
            return self.expression()(b"")
        except (ValueError, struct.error):
            while self.left() and self._peek() != _Token("sign", ","):
                self._at += 1
            return None


def _chosen(condition: Getter, yes: Getter, no: Getter) -> Getter:
    return lambda record: yes(record) if condition(record) else no(record)


def _logical(left: Getter, right: Getter, rule: Callable[[Any], bool]) -> Getter:
    return lambda record: int(rule(bool(side(record)) for side in (left, right)))


def _integer(value: Any) -> int:
    if isinstance(value, int):
        return value
    raise ValueError("not a number")


def _computed(work: Callable[[int, int], int], left: Getter, right: Getter) -> Getter:
    # Signs stay as long as they are within 64 bits: conversions define how a value is written.
    def value(record: bytes) -> int:
        found = int(work(_integer(left(record)), _integer(right(record))))
        return found if -(1 << 63) <= found <= _ALL else found & _ALL

    return value


def _inverted(sign: str, inner: Getter) -> Getter:
    if sign == "!":
        return lambda record: int(not inner(record))
    if sign == "~":
        return lambda record: ~_integer(inner(record))
    return lambda record: -_integer(inner(record))


def _narrowed(inner: Getter, bits: int) -> Getter:
    if bits == 0:
        return inner

    def value(record: bytes) -> Any:
        found = inner(record)
        if not isinstance(found, int):
            return found
        return signed(found, -bits) if bits < 0 else found & ((1 << bits) - 1)

    return value


def _symbolic(value: Getter, names: Mapping[int, str]) -> Getter:
    def name(record: bytes) -> str:
        number = _integer(value(record)) & _ALL
        return names.get(number) or names.get(number & 0xFFFFFFFF) or f"0x{number:x}"

    return name


def _flags(value: Getter, between: str, names: Mapping[int, str]) -> Getter:
    def text(record: bytes) -> str:
        left = _integer(value(record)) & _ALL
        parts = []
        for bits, name in names.items():
            if bits and left & bits == bits:
                parts.append(name)
                left &= ~bits
        return between.join([*parts, f"0x{left:x}"] if left else parts)

    return text


def _swapped(value: Getter) -> Getter:
    def number(record: bytes) -> int:
        found = _integer(value(record)) & 0xFFFF
        return found >> 8 | (found & 0xFF) << 8

    return number
