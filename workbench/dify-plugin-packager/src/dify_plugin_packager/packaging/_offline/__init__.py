"""Packages for machines without an index: every wheel is inside."""
