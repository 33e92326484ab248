"""The server: its thread and arguments, its routes, how replies are sent, what was asked, recordings."""
