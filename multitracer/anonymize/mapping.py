"""Addresses that stand for others: prefix-preserving for IP, arbitrary for Ethernet, the same for one key.

References
----------
J. Xu, J. Fan, M. Ammar, S. Moon: "Prefix-Preserving IP Address Anonymization", ICNP 2002 (Crypto-PAn);
RFC 6235 (IP flow anonymization), sections 4.1.1 and 4.2.
"""

from __future__ import annotations

import ipaddress
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

KEY_BYTES = 32
_KNOWN = 1 << 16
_MAPPED = bytes(10) + b"\xff\xff"  # of IPv4 in IPv6, RFC 4291 2.5.5.2


class Mapping:
    """One key's mapping of addresses.

    Parameters
    ----------
    key : bytes
        32 bytes: the cipher's key, and what its padding is made of.

    Raises
    ------
    UsageError
        The key has another length, or the package `cryptography` is missing.

    Notes
    -----
    Two addresses share as many leading bits after the mapping as before, in each family. Unspecified
    addresses (``0.0.0.0``, ``::``) stay. IPv4 within IPv6 (``::ffff:192.0.2.1``) is mapped as IPv4, so that
    both spellings of an address in a kernel log remain one. Broadcast Ethernet addresses stay; a group
    remains a group, and all others become locally administered.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise UsageError(f"a key for --anonymize has {KEY_BYTES} bytes, not {len(key)}")
        self._cipher = _cipher(key[:16])
        self._pad = self._cipher.update(key[16:])
        self.ip = lru_cache(_KNOWN)(self._ip)
        self.ethernet = lru_cache(_KNOWN)(self._ethernet)

    def _ip(self, address: bytes) -> bytes:
        """An IPv4 address of 4 bytes or an IPv6 address of 16, in network order."""
        if not any(address):
            return address
        if len(address) == 16 and address.startswith(_MAPPED):
            return _MAPPED + self.ip(address[12:])
        bits = 8 * len(address)
        value, pad = int.from_bytes(address, "big"), int.from_bytes(self._pad[: len(address)], "big")
        rest = self._pad[len(address) :]
        ones = (1 << bits) - 1
        blocks = bytearray()
        for known in range(bits):
            low = ones >> known
            blocks += ((value & ~low) | (pad & low)).to_bytes(len(address), "big") + rest
        found = self._cipher.update(bytes(blocks))
        mask = 0
        for at in range(bits):
            mask = mask << 1 | found[16 * at] >> 7
        return (value ^ mask).to_bytes(len(address), "big")

    def _ethernet(self, address: bytes) -> bytes:
        """An Ethernet address of 6 bytes."""
        if address in (b"\xff" * 6, bytes(6)):
            return address
        found = self._cipher.update(b"ethernet\0\0" + address)
        return bytes([found[0] & 0xFC | 0x02 | address[0] & 0x01]) + found[1:6]

    def ip_text(self, text: str) -> str:
        """An address as text; what is none comes back as it is."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        found = ipaddress.ip_address(self.ip(address.packed))
        inside = getattr(found, "ipv4_mapped", None)
        return f"::ffff:{inside}" if inside is not None else str(found)


def _cipher(key: bytes) -> CipherContext:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise UsageError(
            "--anonymize needs the package cryptography: pip install 'multitracer[anonymize]'"
        ) from None
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def key_of(path: str | None) -> bytes:
    """The key in a file, which is made with a random key if there is none; without a file, a random key.

    Parameters
    ----------
    path : str or None
        A file of 32 bytes, or of 64 hexadecimal digits.

    Raises
    ------
    UsageError
        The file holds no key, or cannot be read or made.
    """
    if path is None:
        return os.urandom(KEY_BYTES)
    try:
        with open(path, "rb") as file:
            content = file.read(4 * KEY_BYTES)
    except FileNotFoundError:
        return _made(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if len(content) == KEY_BYTES:
        return content
    try:
        key = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(f"{path}: no key; it needs {KEY_BYTES} bytes or {2 * KEY_BYTES} hexadecimal digits")
    return key


def _made(path: str) -> bytes:
    key = os.urandom(KEY_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return key
