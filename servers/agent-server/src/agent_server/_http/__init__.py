"""The HTTP side of a server; `agent_server.http` exports the public part."""
