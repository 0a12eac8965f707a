"""Make a folder that takes local-rag to a machine without a network, and check and install it there."""
