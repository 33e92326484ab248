"""The tool answers that a run is reading: their memory is limited, and reading stops when the run ends."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.entities.tool import ToolInvokeMessage

from ._errors import OutputTooLargeError
from ._interruptible import Interruptible


_MAX_ANSWER_BYTES = 32 * 1024 * 1024  # Two files of the largest size.
_MAX_HELD_BYTES = 64 * 1024 * 1024  # A plugin has 256 MiB.
_MESSAGE_BYTES = 1_024  # The memory of an empty message.
# The memory of lists, objects and their members besides their text: `[{}, {}]` takes twenty times as
# much once it is decoded.
_CONTAINER_BYTES = 128
_MEMBER_BYTES = 32


class OpenAnswers:
    """The answers of tools that a run is reading at the same time."""

    def __init__(self) -> None:
        self._open: set[Interruptible[ToolInvokeMessage]] = set()
        self._held_bytes = 0

    def read(self, answer: Generator[ToolInvokeMessage]) -> Generator[ToolInvokeMessage]:
        """Iterate over a tool's messages; once closed, messages that still arrive are dropped.

        Raises:
            OutputTooLargeError: If they are too many or too large to be held, alone or together with those of other tools.
        """
        messages = Interruptible(answer)
        self._open.add(messages)
        try:
            with closing(messages):
                yield from self._iter_bounded(messages)
        finally:
            self._open.discard(messages)

    def close(self) -> None:
        """Stop reading all answers, even if a read is waiting for its tool."""
        for messages in tuple(self._open):
            messages.close()

    def _iter_bounded(self, messages: Iterable[ToolInvokeMessage]) -> Iterator[ToolInvokeMessage]:
        held = 0
        try:
            for message in messages:
                size = _measure(message)
                held += size
                self._held_bytes += size
                if held > _MAX_ANSWER_BYTES:
                    raise OutputTooLargeError(_MAX_ANSWER_BYTES)
                if self._held_bytes > _MAX_HELD_BYTES:
                    raise OutputTooLargeError(_MAX_HELD_BYTES, of="all tools of the round")
                yield message
        finally:
            self._held_bytes -= held


def _measure(message: ToolInvokeMessage) -> int:
    """Return an estimate of the memory that a message takes, in bytes."""
    match message.message:
        case InvokeMessage.TextMessage(text=data):
            size = sys.getsizeof(data)
        case InvokeMessage.BlobMessage(blob=data) | InvokeMessage.BlobChunkMessage(blob=data):
            size = len(data)
        case other:
            size = _measure_members(other)
    return _MESSAGE_BYTES + size + (_measure_members(message.meta) if message.meta else 0)


def _measure_members(value: object) -> int:
    text = str(value)
    containers = text.count("{") + text.count("[")
    return sys.getsizeof(text) + containers * _CONTAINER_BYTES + text.count(",") * _MEMBER_BYTES
