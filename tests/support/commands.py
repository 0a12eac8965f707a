"""Programs run as a person runs them."""

from __future__ import annotations

import signal
import subprocess
import sys


def stopped(program, arguments, env, line):
    """Run a program, send Ctrl-C once it shows the line, and return its exit code and what it shows from then on."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        shown = []
        for each in child.stderr:
            shown.append(each)
            if each.startswith(line):
                break
        else:
            raise AssertionError("".join(shown))
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read()
        return child.wait(600), rest
