"""Read question and passage together with a small trained model, the evaluator."""
