"""Dify plugin tools and models inside a Pydantic AI agent, through the plugin daemon.

Importing this package, `dify_agent.protocol` or `dify_agent.layers.dify_plugin` loads nothing that only a server needs.
"""
