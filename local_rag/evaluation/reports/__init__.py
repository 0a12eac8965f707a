"""What a person reads of an evaluation: a table in the terminal, report.md, and one page that needs nothing else."""
