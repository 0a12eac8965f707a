"""Provide what tests share: scripted parts, servers on loopback, contracts, and paths of the checkout."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
CHECKOUT = TESTS.parent
