"""The values that the parts of an engine share."""

from dataclasses import dataclass

from agent_server._store.encryption import Encryption
from agent_server._store.servers import Server
from agent_server._store.writer import Writer
from agent_server.settings import ServerSettings

from .hub import Hub
from .reading import Readers
from .statistics import Tallies
from .underway import Underway


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The settings and the parts that all others need.

    Attributes:
        settings: The server's settings.
        server: This server, as the others on its database see it.
        writer: The thread that writes.
        readers: The threads that read.
        encryption: Encrypts and decrypts what is stored.
        hub: Pushes stored events to watchers.
        tallies: Counts the runs that ended here.
        underway: The steps that are being made here, and whether their runs may have been told something.
    """

    settings: ServerSettings
    server: Server
    writer: Writer
    readers: Readers
    encryption: Encryption
    hub: Hub
    tallies: Tallies
    underway: Underway
