"""The clients and what they share; `agent_server.client` exports them."""
