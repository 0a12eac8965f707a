"""Define values, events, protocols, errors and cancellation; this package imports nothing else of local_rag."""
