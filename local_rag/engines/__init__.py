"""Engines: what grades, answers and rewrites. The extractive one needs no language model."""
