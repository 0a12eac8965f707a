"""Set up a fresh checkout and get a first answer: python3 scripts/quickstart.py [--recreate]

Older Pythons read this file to report their version: use only syntax of Python 3.6.
"""

import argparse
import os
import sys

import python_version  # noqa: F401 - ends the program where Python is too old
from environment import CHECKOUT, PROGRAMS, main, prepare, run


def quickstart() -> int:
    """Set up, run the demo on the documents that come with the package, and show the next commands."""
    parser = argparse.ArgumentParser(
        prog="quickstart.py",
        description="Installs local-rag into .venv in this checkout and runs its demo. A second run takes seconds.",
    )
    parser.add_argument("--recreate", action="store_true", help="delete .venv first and install everything anew")
    prepare({"minilm"}, parser.parse_args().recreate)
    print()
    program = PROGRAMS / "local-rag"
    status = run(CHECKOUT / program, "demo")
    if status:
        sys.exit(f"the demo ended with exit status {status}\n  try: {program} doctor, or this command with --recreate")
    print(
        f"""
Now your own files:
  {program} index FOLDER
  {program} ask "your question"
or in the browser, which only this machine can reach:
  {program} serve
To type only local-rag from now on:
  {"" if os.name == "nt" else "source "}{PROGRAMS / "activate"}"""
    )
    return 0


if __name__ == "__main__":
    main(quickstart)
