"""Ask language models and read their replies: prompts, tasks, graders, windows."""
