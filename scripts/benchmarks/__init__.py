"""What `scripts/bench.py` runs: one file per benchmark, each with `add_arguments(parser)` and `run(options, data)`."""
