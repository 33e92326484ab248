"""The HTTP side of a server; `agent_server.http` is its public face."""
