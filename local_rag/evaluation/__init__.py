"""How good is it on your own files? Cases, runs over them, figures, and reports that need no network."""
