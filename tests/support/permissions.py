"""Tests of folders without rights, which a superuser would pass without having tested anything."""

from __future__ import annotations

import ctypes
import os
import sys
from concurrent.futures import ThreadPoolExecutor

_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of capabilities(7)."""


def bound_by_permissions(call):
    """What `call()` returns where permissions bind the superuser, too.

    A thread of its own gives up what overrides them (Linux), for good: `os.access` looks at more than is in effect.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return call()
    with ThreadPoolExecutor(1, initializer=give_up_rights) as thread:
        return thread.submit(call).result()


def give_up_rights():
    """Let permissions bind this thread, and the threads that it starts, for good."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, 64 bits each in two halves
    library = ctypes.CDLL(None, use_errno=True)
    if library.capget(header, sets) == 0:
        for first in range(3):
            sets[first] &= ~_OVERRIDES
        if library.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "the rights of a superuser cannot be given up")
