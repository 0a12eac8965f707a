"""What every language model is asked, and how its replies are read: prompts, tasks, graders, windows."""
