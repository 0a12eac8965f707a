"""The extractive engine: it quotes sentences of the passages and needs no language model."""
