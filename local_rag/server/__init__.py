"""The local page and its API: one process, one person. Only this package imports Starlette and uvicorn."""
