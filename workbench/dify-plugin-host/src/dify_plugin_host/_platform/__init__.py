"""Dify's part around plugins: models, tools, files and storage for their calls back, and the rules on the way."""
