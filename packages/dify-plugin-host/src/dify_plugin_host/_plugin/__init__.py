"""A plugin, read without starting it: what it declares, what it offers, and where it comes from."""
