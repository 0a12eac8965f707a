"""Search the web without a key, fetch pages from public addresses, and read their text."""
