"""The embedded store: SQLite is the truth, FAISS finds, FTS5 ranks."""
