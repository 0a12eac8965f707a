"""The web: search without a key, pages fetched from public addresses, their text."""
