"""Bringing an index up to date: walking folders, reading, embedding and storing."""
