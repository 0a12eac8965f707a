"""Whether there is room on the disk for what is about to be written."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

_PART = 1 << 20


def take_room(folder: Path, size: int) -> None:
    """Raises OSError where a file of `size` bytes cannot be written into a folder: no space, a quota, a limit.

    The free space that a system tells knows nothing of quotas and limits, so a file is tried; it is gone afterwards.
    """
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:  # macOS and Windows have no such call, some file systems neither
            if isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            for _ in range(size // _PART + 1):
                file.write(bytes(_PART))


def free_bytes(folder: Path) -> int | None:
    """What the system says is free; None where it does not say."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
