"""File formats: from a path to documents with title, headings and pages, in a worker process."""
