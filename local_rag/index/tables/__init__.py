"""Tables as typed columns, and questions about them that code computes."""
