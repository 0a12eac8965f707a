"""Run all checks for a change: python3 scripts/test.py; --all adds slow tests and whole commands (tests/e2e).

With arguments of pytest, only pytest runs: python3 scripts/test.py -k citations. Older Pythons read this file to report
their version: use only syntax of Python 3.6.
"""

import argparse
import sys

import python_version  # noqa: F401 - ends the program where Python is too old
from environment import PYTHON, main, prepare, run

STATIC = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
PARALLEL = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile", "--no-loadscope-reorder"]
QUICK = ["tests/integration", "tests/unit", "-m", "not slow", "--hypothesis-profile", "quick"]


def check() -> int:
    """Run every check to its end and return the exit status of the first that failed."""
    parser = argparse.ArgumentParser(
        prog="test.py",
        allow_abbrev=False,
        description="Sets up .venv with the test tools, then runs ruff check, ruff format --check, mypy and pytest.",
        epilog="All other arguments go to pytest, which then runs alone; so does everything after --.",
    )
    parser.add_argument("--recreate", action="store_true", help="delete .venv first and install everything anew")
    parser.add_argument(
        "--all", action="store_true", help="also run what takes minutes: tests marked slow, and tests/e2e"
    )
    own, after = split(sys.argv[1:])
    options, unknown = parser.parse_known_args(own)
    prepare({"minilm", "test"}, options.recreate)
    failed = {}
    for command in checks(unknown + after, options.all):
        print("\n$ " + " ".join(command))
        status = run(PYTHON, "-m", *command)
        if status:
            failed[command[0]] = status
    print("\nfailed: " + ", ".join(failed) if failed else "\nall passed")
    return next(iter(failed.values()), 0)


def split(arguments: "list[str]") -> "tuple[list[str], list[str]]":
    """Return our own arguments, and those after --."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def checks(for_pytest: "list[str]", everything: bool) -> "list[list[str]]":
    """Return the modules to run with their arguments: all four, or only pytest if it is given arguments."""
    if for_pytest:
        return [["pytest", *for_pytest]]
    return [*STATIC, ["pytest", *PARALLEL, *([] if everything else QUICK)]]


if __name__ == "__main__":
    main(check)
