"""The few system calls that Python 3.11 does not offer."""

from __future__ import annotations

import ctypes
import os

from multitracer.linux.libc import libc

CLONE_NEWNET = 0x40000000
# The same on every architecture since Linux 5.2 (asm-generic/unistd.h).
_SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT = 430, 431, 432
_FSCONFIG_CMD_CREATE = 6
_CLOEXEC = 1


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """unshare(2) for the calling thread."""
    _checked(libc().unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """setns(2) for the calling thread."""
    _checked(libc().setns(fd, kind), "setns")


def detached_mount(filesystem: str) -> int:
    """Mount a pseudo file system without a mount point, private, for the life of its descriptor.

    Returns
    -------
    int
        Descriptor of the root directory; reach files through ``/proc/self/fd/<n>/``.

    Raises
    ------
    OSError
        The kernel lacks the file system, or is older than 5.2.
    """
    context = _checked(libc().syscall(_SYS_FSOPEN, filesystem.encode(), _CLOEXEC), "fsopen")
    try:
        _checked(libc().syscall(_SYS_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0), "fsconfig")
        return _checked(libc().syscall(_SYS_FSMOUNT, context, _CLOEXEC, 0), "fsmount")
    finally:
        os.close(context)
