"""The check of a package: the rules for its files, an installation, and a smoke test."""
