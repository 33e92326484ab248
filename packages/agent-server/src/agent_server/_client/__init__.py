"""What both clients have in common; `agent_server.client` is their public face."""
