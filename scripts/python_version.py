"""Says in one line that this Python is too old. Older Pythons read this file: only syntax of Python 3.6 here."""

import shutil
import sys
from pathlib import Path

OLDEST = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")


def require() -> None:
    """Leave with exit status 1 and what to type instead, if the running Python is older than OLDEST."""
    if tuple(sys.version_info[:2]) >= OLDEST:
        return
    have = ".".join(str(part) for part in sys.version_info[:3])
    found = [name for name in NEWER if shutil.which(name)]
    command = f"{found[0]} scripts/{Path(sys.argv[0]).name}" if found else "https://www.python.org/downloads/"
    sys.exit(f"local-rag needs Python 3.11 or newer, and this is Python {have}\n  try: {command}")
