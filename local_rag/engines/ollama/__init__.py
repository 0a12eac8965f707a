"""The engine on local Ollama models: one guarded connection, strict replies, a stable prompt prefix."""
