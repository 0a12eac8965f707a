"""The index: files in, passages out."""
