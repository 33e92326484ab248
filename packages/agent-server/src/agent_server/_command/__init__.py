"""Starting and stopping a server; `agent_server.command` is the public side."""
