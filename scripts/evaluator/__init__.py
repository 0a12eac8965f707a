"""How an evaluator is trained; `scripts/train_evaluator.py` is the command."""
