"""The ids of responses and of their items, which say where each is found: there is no table of them."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self

from agent_server.executor import JsonObject


type Calls = Iterator[tuple[JsonObject, str]]
"""Calls, each with its id."""

_FORM: Final = re.compile(r"resp_([0-9a-f]{32})_(0|[1-9][0-9]{0,5})", re.ASCII)
_ITEM: Final = re.compile(r"[a-z]{1,4}_([0-9a-f]{32}_[0-9]{1,6})_[0-9]{1,6}", re.ASCII)
_ANSWERED_IN: Final = {
    "function_call_output": "call_id",
    "mcp_approval_response": "approval_request_id",
}
_PREFIXES: Final = {
    "message": "msg",
    "reasoning": "rs",
    "mcp_call": "mcp",
    "function_call": "fc",
    "image_generation_call": "ig",
}


@dataclass(frozen=True, slots=True)
class ResponseId:
    """The id of a response: a part of a run.

    Attributes:
        run_id: The run.
        part: How often the run had waited and was answered when the response began.
    """

    run_id: str
    part: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the id in a text; None if it is none of ours."""
        found = _FORM.fullmatch(text)
        return None if found is None else cls(str(uuid.UUID(found[1])), int(found[2]))

    @classmethod
    def of_answer(cls, item: JsonObject) -> Self | None:
        """Return the id of the response that asked for what an item of an input answers; None if the item answers nothing of ours."""
        asked = str(item.get(_ANSWERED_IN.get(item["type"], "")))
        return cls.of_item(asked) if asked.startswith(("call_", "mcpr_")) else None

    @classmethod
    def of_item(cls, text: str) -> Self | None:
        """Return the id of the response that an item, or a call, has its id from; None if that is none of ours."""
        found = _ITEM.fullmatch(text)
        return None if found is None else cls.parse(f"resp_{found[1]}")

    def __str__(self) -> str:
        """Return the id as clients have it."""
        return f"resp_{self._place}"

    @property
    def before(self) -> Self:
        """The id of the response of the same run that this one continues from."""
        return type(self)(self.run_id, self.part - 1)

    def item(self, kind: str, index: int) -> str:
        """Return the id of an item of the response's output.

        Args:
            kind: The item's type.
            index: Its `output_index`.
        """
        return f"{_PREFIXES[kind]}_{self._place}_{index}"

    def calls(self, asked: JsonObject, kind: Literal["approvals", "results"]) -> Calls:
        """Yield each call that waits at the response's end, with the id by which clients answer it.

        Args:
            asked: What is waited for, as the data of `run_waiting`.
            kind: Those that wait for approval, or for the client's result.
        """
        prefix = "mcpr" if kind == "approvals" else "call"
        for n, call in enumerate(asked[kind]):
            yield call, f"{prefix}_{self._place}_{n}"

    def input_item(self, index: int) -> str:
        """Return the id of an item of the response's input that has none of its own."""
        return f"in_{self._place}_{index}"

    @property
    def _place(self) -> str:
        return f"{uuid.UUID(self.run_id).hex}_{self.part}"
