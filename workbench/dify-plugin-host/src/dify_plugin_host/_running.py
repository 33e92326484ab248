"""The base of everything that is started and stopped."""

from abc import ABC, abstractmethod
from typing import Self


class Running(ABC):
    """Something that runs from its start to its stop, and within an `async with` block."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @abstractmethod
    async def start(self) -> None:
        """Start; leave nothing running if that fails."""

    @abstractmethod
    async def stop(self) -> None:
        """End everything that runs; do nothing if nothing does."""
