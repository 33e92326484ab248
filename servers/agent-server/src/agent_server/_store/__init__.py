"""The database of runs: its tables, its single writer, and each transaction as a function."""
