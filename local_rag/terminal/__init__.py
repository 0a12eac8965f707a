"""Show answers, reports, tables, progress and the chat in a terminal."""
