"""A plugin's process: started, talked to over its pipes, and ended."""
