"""Where an engine is: `temporal://HOST:PORT/NAMESPACE`."""

import re
from dataclasses import dataclass
from typing import Final, Self

from agent_server.engine import EngineError


_URL: Final = re.compile(
    r"temporal://(?P<target>(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5}))/(?P<namespace>[^/?#\s]+)/?",
    re.ASCII,
)

_LARGEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a namespace of Temporal.

    Attributes:
        target: Host and port, such as `127.0.0.1:7233`.
        namespace: The namespace, which has to exist.
    """

    target: str
    namespace: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read the setting `engine`.

        Raises:
            EngineError: If it has another form.
        """
        found = _URL.fullmatch(url)
        if found is None or int(found["port"]) > _LARGEST_PORT:
            raise EngineError("engine: expected temporal://HOST:PORT/NAMESPACE")
        return cls(target=found["target"], namespace=found["namespace"])
