"""Starting and stopping a server; `agent_server.command` has the public part."""
