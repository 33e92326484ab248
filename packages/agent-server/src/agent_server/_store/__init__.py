"""The database of runs: its tables, its one writer, and what is written and read in one transaction each."""
