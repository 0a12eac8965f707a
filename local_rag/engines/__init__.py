"""Grade, answer and rewrite: each engine does these tasks. The extractive one needs no language model."""
