"""What can be asked of the server: one module per group, each with its `ENDPOINTS`."""
