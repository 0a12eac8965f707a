"""Rag: the index, an engine and a graph wired together, and one run of a question."""
