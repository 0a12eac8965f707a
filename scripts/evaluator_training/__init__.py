"""How the weights of the evaluator are trained; `scripts/train_evaluator.py` is the command."""
