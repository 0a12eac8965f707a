"""Set up a fresh checkout and get a first answer: python3 scripts/quickstart.py [--recreate]

Older Pythons read this file to report their version: use only syntax of Python 3.6.
"""

import argparse
import sys

import python_version  # noqa: F401 - ends the program where Python is too old
from environment import CHECKOUT, Environment, SetupError, main, say


def quickstart() -> int:
    """Set up, run the demo on the documents that come with the package, and show the next commands."""
    parser = argparse.ArgumentParser(
        prog="quickstart.py",
        description="Installs local-rag into .venv in this checkout and runs its demo. A second run takes seconds.",
    )
    parser.add_argument("--recreate", action="store_true", help="delete .venv first and install everything anew")
    environment = Environment(CHECKOUT)
    environment.prepare(["minilm"], parser.parse_args().recreate)
    say("")
    status = environment.call(environment.program("local-rag"), "demo")
    if status:
        raise SetupError(
            f"local-rag demo ended with exit status {status}", environment.typed("local-rag") + " doctor", status
        )
    say(environment.next_commands())
    return 0


if __name__ == "__main__":
    sys.exit(main(quickstart))
