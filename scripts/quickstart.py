"""From a fresh checkout to a first answer: python3 scripts/quickstart.py [--recreate]

Older Pythons read this file, to be told so: only syntax of Python 3.6 here.
"""

import sys

import python_version


def main() -> int:
    python_version.require()
    import setup_console

    return setup_console.run(quickstart)


def quickstart() -> int:
    """Set up, run the demo on the documents that come with the package, and say how to go on."""
    import argparse

    import setup_environment as setup
    from setup_console import STOPPED, SetupError, call, say

    parser = argparse.ArgumentParser(
        prog="quickstart.py",
        description="Installs local-rag into .venv in this checkout and runs its demo. A second run takes seconds.",
    )
    parser.add_argument("--recreate", action="store_true", help="delete .venv first and install everything anew")
    recreate = parser.parse_args().recreate

    environment = setup.Environment(setup.CHECKOUT)
    setup.prepare(environment, ["minilm", "eval"], recreate=recreate)
    say("")
    status = call([environment.program("local-rag"), "demo"], environment.variables, environment.checkout)
    if status == STOPPED:
        raise KeyboardInterrupt
    if status != 0:
        raise SetupError(
            f"local-rag demo ended with exit status {status}", environment.typed("local-rag") + " doctor", status
        )
    say(setup.next_commands(environment))
    return 0


if __name__ == "__main__":
    sys.exit(main())
