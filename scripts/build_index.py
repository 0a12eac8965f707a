"""Index files and folders: the same as `local-rag index`, for those who look for a script."""

from __future__ import annotations

import sys

from local_rag.cli import run

if __name__ == "__main__":
    sys.exit(run(["index", *sys.argv[1:]]))
