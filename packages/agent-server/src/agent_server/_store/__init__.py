"""The database of runs: its tables, its one writer, and each transaction as one function."""
