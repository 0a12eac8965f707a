"""Making a set of cases from a person's own index."""
