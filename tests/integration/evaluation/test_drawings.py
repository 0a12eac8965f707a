"""Charts drawn by a Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support import TESTS


@pytest.mark.slow
def test_drawing_says_nothing_and_needs_no_home(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from support.evaluation_run import summary_of\n"
        "from local_rag.evaluation.reports.charts import charts\n"
        "from local_rag.evaluation.reports.drawings import svg\n"
        "assert 'matplotlib' not in sys.modules\n"
        "assert svg(charts(summary_of())[3])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MPL", "XDG"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(TESTS)],
        capture_output=True,
        text=True,
        env=clean | {"HOME": "/dev/null", "TMPDIR": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
