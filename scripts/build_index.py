"""Index files and folders: the same as `local-rag index`, for people who look for a script."""

from __future__ import annotations

import sys

from local_rag.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["index", *sys.argv[1:]]
    main()
