"""A package, so that all of its modules share one browser, which is closed after the last of them."""
