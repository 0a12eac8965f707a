"""Quote sentences of the passages as answers, without a language model."""
