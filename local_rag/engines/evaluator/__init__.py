"""The evaluator: a small trained model that reads question and passage together."""
