"""Limits that settings have as defaults; importing them costs nothing."""

from typing import Final


MAX_MODEL_REQUESTS: Final = 500
"""The most model requests of a run by default."""
