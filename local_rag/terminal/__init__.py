"""What a person sees in a terminal: answers, reports, tables, progress and the chat."""
