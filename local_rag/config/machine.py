"""How much memory this machine has, asked of the system alone."""

from __future__ import annotations

import os
import sys


def total_memory() -> int | None:
    """Bytes of RAM, None where the system does not tell without further libraries."""
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _windows_memory() -> int | None:
    """GlobalMemoryStatusEx of the Win32 API (learn.microsoft.com, sysinfoapi.h)."""
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "page_total", "page_free", "virtual", "virtual_free", "extended")
        ]

    status = Status()
    status.length = ctypes.sizeof(Status)
    library = getattr(ctypes, "windll", None)
    if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.total)
