"""Values, events, protocols, errors and cancellation; imports nothing of local_rag."""
