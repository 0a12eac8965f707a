"""Connect index, engine and graph in a Rag, and run questions."""
