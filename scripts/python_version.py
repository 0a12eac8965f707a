"""End a Python that is too old with one line; older Pythons read this file: use only syntax of Python 3.6."""

import shutil
import sys
from pathlib import Path

NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")

if tuple(sys.version_info[:2]) < (3, 11):
    have = ".".join(str(part) for part in sys.version_info[:3])
    found = [name for name in NEWER if shutil.which(name)]
    command = f"{found[0]} scripts/{Path(sys.argv[0]).name}" if found else "https://www.python.org/downloads/"
    sys.exit(f"local-rag needs Python 3.11 or newer, and this is Python {have}\n  try: {command}")
