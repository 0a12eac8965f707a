"""A folder that carries local-rag across an air gap: made here, checked and installed there."""
