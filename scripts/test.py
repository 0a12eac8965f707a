"""What must pass at each change: python3 scripts/test.py; with --all slow tests and whole commands (tests/e2e), too.

With arguments of pytest, pytest runs alone: python3 scripts/test.py -k citations.
Older Pythons read this file, to be told so: only syntax of Python 3.6 here.
"""

import sys

import python_version

EXTRAS = ("minilm", "eval", "test", "demo-documents")
PARALLEL = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile", "--no-loadscope-reorder"]
QUICK = ["tests/integration", "tests/unit", "-m", "not slow", "--hypothesis-profile", "quick"]


def main() -> int:
    python_version.require()
    import setup_console

    return setup_console.run(check)


def check() -> int:
    """Run every check to its end and return the exit status of the first that failed."""
    import argparse
    import contextlib

    import setup_environment as setup
    from setup_console import STOPPED, beside, call, say

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

    environment = setup.Environment(setup.CHECKOUT)
    setup.prepare(environment, EXTRAS, recreate=options.recreate)
    failed = []

    def ended(module: str, status: int) -> None:
        if status == STOPPED:
            raise KeyboardInterrupt
        if status != 0:
            failed.append((module, status))

    variables = environment.variables
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode every worker compiles every test anew
    finish_mypy = None
    with contextlib.ExitStack() as stack:
        for module, arguments in checks(unknown + after, options.all):
            command = [str(environment.python), "-m", module, *arguments]
            if module == "mypy":  # one core for a while: it runs beside pytest
                finish_mypy = stack.enter_context(beside(command, variables, environment.checkout))
                continue
            say("\n$ " + " ".join([module, *arguments]))
            ended(module, call(command, variables, environment.checkout))
        if finish_mypy:
            say("\n$ mypy")
            ended("mypy", finish_mypy())
    say("\nfailed: " + ", ".join(module for module, _ in failed) if failed else "\nall passed")
    return failed[0][1] if failed else 0


def split(arguments: "list[str]") -> "tuple[list[str], list[str]]":
    """Our own arguments, and those after --."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def checks(for_pytest: "list[str]", everything: bool) -> "list[tuple[str, list[str]]]":
    """The modules to run with their arguments: all four, or pytest alone when it is given arguments."""
    if for_pytest:
        return [("pytest", for_pytest)]
    static = [("ruff", ["check"]), ("ruff", ["format", "--check"]), ("mypy", [])]
    return [*static, ("pytest", PARALLEL if everything else PARALLEL + QUICK)]


if __name__ == "__main__":
    sys.exit(main())
