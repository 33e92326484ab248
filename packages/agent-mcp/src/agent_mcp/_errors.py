"""What can go wrong with a server before, between and besides the answers of its tools."""


class McpError(Exception):
    """A server that cannot be used: its settings are wrong, it did not start, or it has ended. Its text holds no secrets of the server.

    Attributes:
        server: The name of the server; empty where the servers together are at fault.
    """

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"MCP server {server!r}: {message}" if server else message)
        self.server = server
