"""The run log of a script, by `gpt5-run-log`: its input, what it printed and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agent_server.executor import InputAnswer, InputRequest, RunResult
from run_log import RunFeed, RunWriter

from ._requests import ScriptRequest
from .usage import sum_usage


class RunRecorder:
    """The run log of one attempt to run a script.

    Args:
        feed: The feed for its records; None if there is none.
    """

    def __init__(self, feed: RunFeed | None) -> None:
        # A script asks whom it likes, which nobody here sees.
        about = {"provider": "unknown"}
        self._writer: RunWriter | None = None if feed is None else feed.begin(about)

    def record_request(self, request: ScriptRequest, answer: InputAnswer | None) -> None:
        """Write the script's input, and the answer with which it continues."""
        if self._writer is not None:
            given = {"input": dict(request.input), "files": sorted(request.files)}
            given |= {} if answer is None else {"answer": answer.to_dict()}
            self._writer.request(1, [{"role": "user", "content": given}], {})

    def record_output(self, output: Mapping[str, Any]) -> None:
        """Write an output of the script."""
        if self._writer is not None:
            self._writer.delta(1, f"{_shown(output)}\n")

    def wait(self, asked: InputRequest, metadata: Mapping[str, Sequence[Any]]) -> None:
        """Write what the script asks for, and its end."""
        self.record_output({"type": "input_required", "value": asdict(asked)})
        self._end("waiting", None, metadata)

    def end(self, result: RunResult, metadata: Mapping[str, Sequence[Any]]) -> None:
        """Write the end of the script, with the metadata that only its operator may see."""
        reason = "answered" if result.status == "succeeded" else result.error_type or "failed"
        self._end(reason, result.error, metadata)

    def close(self) -> None:
        """Close the log, even of a run that was given up."""
        if self._writer is not None:
            self._writer.close()

    def _end(self, reason: str, error: str | None, metadata: Mapping[str, Sequence[Any]]) -> None:
        if self._writer is not None:
            # Of this attempt alone: those before it have logs of their own.
            summed = sum_usage(metadata.get("_llm_usage", ()))
            usage = {} if summed is None else asdict(summed)
            known = {name: value for name, value in usage.items() if value is not None}
            self._writer.answer(1, usage=known | dict(metadata), error=error)
            self._writer.end(reason, rounds=1, usage=known, error=error)


def _shown(output: Mapping[str, Any]) -> Any:
    return output.get("text", output.get("message", output.get("value", output["type"])))
