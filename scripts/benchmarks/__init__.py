"""Implement the benchmarks of `scripts/bench.py`, one per file.

Each file has `add_arguments(parser)` and `run(options, data)`.
"""
