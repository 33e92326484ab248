"""Results of tools: what a model reads of them, how much of it, and what is remembered and kept."""
