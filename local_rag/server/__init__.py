"""Serve the local page and its API to one person from one process; only this package imports Starlette and uvicorn."""
