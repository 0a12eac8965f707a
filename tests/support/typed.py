"""Run commands as a person types them, and keep the lines that a display gets."""

import json
import shlex

from local_rag.cli.app import run
from local_rag.core.progress import Silent


class Lines(Silent):
    """Implement a display that keeps its lines."""

    def __init__(self):
        self.said = []
        self.say = self.said.append


class Typed:
    """Run a line as a shell would, check its exit code, and return its output, stderr after stdout.

    `ended` is the last exit code.
    """

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, line, code=0):
        return "".join(self.shown(line, code))

    def json(self, line, code=0):
        return json.loads(self.out(f"{line} --json", code))

    def out(self, line, code=0):
        return self.shown(line, code).out

    def error(self, line, code=2):
        """Return the error and its hint, which are the whole output of a refused command."""
        shown = self.shown(line, code)
        error, hint = [*shown.err.splitlines(), ""][:2]
        assert shown.out == "" and error.startswith("error: ") and len(shown.err.splitlines()) < 3, shown
        return error, hint

    def shown(self, line, code=0):
        self.capsys.readouterr()
        self.ended = run(shlex.split(line))
        shown = self.capsys.readouterr()
        assert code in (None, self.ended), shown
        return shown
