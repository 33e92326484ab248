"""Python functions that serve as tools."""
