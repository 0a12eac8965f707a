"""Embedding models: weights, conversion for OpenVINO, and the embedder itself."""
