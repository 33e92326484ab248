"""One system instruction from policy blocks and their overrides, byte for byte stable."""
