"""The answer of a script, built from its outputs."""

from collections.abc import Sequence
from typing import Any

from agent_runner._output.outputs import ErrorOutput, JsonOutput, Output, TextOutput
from agent_runner._run.result import RunResult as ScriptResult
from agent_server.executor import RunResult
from stream_text import dump_json, has_many_values

from .usage import sum_usage


# Larger answers are among the events, and need not be stored twice.
_MAX_CHARACTERS = 1024 * 1024


class ScriptAnswer:
    """The answer of a script: the value of its last `json_output`, or all its text if it printed none.

    Images, sounds and files are only among the events, and so is an answer of more than 1 MiB.

    Args:
        llm_usage: All `_llm_usage` that the script printed before it waited for input and was started again.
    """

    def __init__(self, llm_usage: Sequence[Any] = ()) -> None:
        self._llm_usage = llm_usage
        self._texts: list[str] = []
        self._characters = 0
        # A list with the last value, since null is a value, too.
        self._values: list[Any] = []
        self._error: str | None = None

    def add(self, output: Output) -> None:
        """Take the next output."""
        match output:
            case JsonOutput(value=value):
                # Each value has two characters at least: what is too large at first sight is not held, since it takes many times its size.
                self._values = [
                    None if has_many_values(value, most=_MAX_CHARACTERS // 2) else value
                ]
            case TextOutput(text=text):
                # One more for the line break between two texts.
                self._characters += len(text) + 1
                if self._characters <= _MAX_CHARACTERS:
                    self._texts.append(text)
            case ErrorOutput(message=message):
                self._error = message
            case _:
                pass

    def llm_usage(self, ended: ScriptResult) -> list[Any]:
        """Return all `_llm_usage` of the run so far."""
        return [*self._llm_usage, *ended.metadata.get("_llm_usage", ())]

    def build_result(self, ended: ScriptResult) -> RunResult:
        """Return the result of the run; the error of a failed one is the last line of stderr or the runner's sentence."""
        details = {
            "stop_reason": ended.stop_reason,
            "exit_code": ended.exit_code,
            "duration_seconds": ended.duration_seconds,
        }
        usage = sum_usage(self.llm_usage(ended))
        if ended.status == "succeeded":
            return RunResult(status="succeeded", output=self._value(), usage=usage, details=details)
        has_exited = ended.stop_reason == "exited"
        return RunResult(
            status="failed",
            error=self._error,
            error_type="script_failed" if has_exited else ended.stop_reason,
            usage=usage,
            details=details,
        )

    def _value(self) -> Any:
        if self._values:
            [value] = self._values
            return value if len(dump_json(value)) <= _MAX_CHARACTERS else None
        is_whole = self._texts and self._characters <= _MAX_CHARACTERS
        return "\n".join(self._texts) if is_whole else None
