"""Runs Dify plugins on a desk: the daemon's side of the plugin protocol, and Dify's."""
