"""Tool calls: which are made, what guards them, what a model reads of them, and how many tools are searched."""
