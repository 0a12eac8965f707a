"""Train an evaluator; `scripts/train_evaluator.py` is the command."""
