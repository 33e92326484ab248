"""How a server is run; `agent_server.command` is its public face."""
