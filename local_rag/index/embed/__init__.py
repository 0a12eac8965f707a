"""Converted models: weights, conversion for OpenVINO, what computes them; and the embedder."""
