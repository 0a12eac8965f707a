"""Measure the answers on a person's own files: cases, runs, figures, and reports that need no network."""
