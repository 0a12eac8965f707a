"""Run the engine on local Ollama models, over one guarded connection."""
