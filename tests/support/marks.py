"""Provide marks of tests that a system cannot run."""

import sys

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals, modes or shell scripts of POSIX")
