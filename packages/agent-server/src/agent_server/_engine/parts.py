"""The values that the parts of an engine share."""

from dataclasses import dataclass

from agent_server._store.servers import Server
from agent_server._store.writer import Writer
from agent_server.settings import ServerSettings

from .hub import Hub
from .reading import Readers
from .statistics import Tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The settings and the parts that all others need.

    Attributes:
        settings: How many runs there may be, and for how long they are kept.
        server: This server, as the others of its database see it.
        writer: The thread that writes.
        readers: The threads that read.
        hub: Where events go that were stored, to be pushed to those who watch.
        tallies: Where runs are counted that ended here.
    """

    settings: ServerSettings
    server: Server
    writer: Writer
    readers: Readers
    hub: Hub
    tallies: Tallies
