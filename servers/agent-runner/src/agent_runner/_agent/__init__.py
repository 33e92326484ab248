"""An agent: its folder, its input, its environment."""
