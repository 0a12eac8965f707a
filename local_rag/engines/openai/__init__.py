"""Run the engine on a local server that speaks OpenAI's API: llama.cpp, LM Studio, Jan, vLLM."""
