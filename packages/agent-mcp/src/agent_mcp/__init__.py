"""The tools of MCP servers as tools of an agent: listed once, called within bounds, without the servers' secrets."""

from ._connection import OnProgress, Progress
from ._errors import McpError
from ._mcp_servers import McpServers
from ._servers import HttpServer, StdioServer


__all__ = ["HttpServer", "McpError", "McpServers", "OnProgress", "Progress", "StdioServer"]
