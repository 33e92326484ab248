"""The model calls of a run, which its driver makes."""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from agent_loop import CallModel, Failure, ModelDelta, ModelFailure
from dify_plugin_kit.error_texts import read_call_failure
from stream_text import redact_log_data

from ._allowed_tools import build_model_parameter
from ._answer_schema import build_format
from ._errors import RequestTooLargeError
from ._interruptible import Interruptible
from ._model import Model
from ._parts import fit_parts
from ._plugin_log import log_failure
from ._prompts import to_prompt
from ._tools import to_prompt_tool
from ._turn import Turn


_LINE_BYTES = 5 * 1024 * 1024  # The longest line that the daemon reads.
_RESERVE_BYTES = 64 * 1024  # For everything around the messages.

type _Received = ModelDelta | ModelFailure | Failure


class ModelCalls:
    """The function that calls the model.

    Args:
        turn: The turn, with its models, the time of the run, and the secrets to redact in errors.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._models = turn.parameters.models
        self._called = ""
        self._prompts: list[PromptMessage] = []

    def __call__(self, request: CallModel) -> Iterator[_Received]:
        """Call the model and iterate over its deltas, followed by the failure if the call fails.

        Args:
            request: The call. Its messages begin with those of the previous call, unless some were left out or it goes to another model.
        """
        return Interruptible(self._iter_answer(request))

    def _iter_answer(self, request: CallModel) -> Generator[_Received]:
        try:
            with closing(self._open(request)) as deltas:
                yield from deltas
        except RequestTooLargeError as error:
            yield self._to_size_failure(error, request)
        except Exception as error:  # noqa: BLE001 - the SDK raises plain exceptions
            yield self._to_failure(error)

    def _open(self, request: CallModel) -> Generator[ModelDelta]:
        called = request.model or ""
        model = self._models[called]
        # Otherwise the request begins with the one before, which is translated already.
        if request.left_out or request.is_rewritten or called != self._called:
            self._prompts.clear()
        self._called = called
        known = len(self._prompts)
        self._prompts += [
            to_prompt(replace(message, content=fit_parts(message.content, model)))
            for message in request.messages[known:]
        ]
        # The SDK limits the silence of a call to this many seconds. The driver's own watch is more exact
        # and acts first.
        session = self._turn.session
        session.max_invocation_timeout = int(self._turn.settings.time.run_seconds) + 2
        return model.stream(
            session,
            prompts=self._prompts,
            tools=list(map(to_prompt_tool, request.tools)),
            tool_choice=request.tool_choice,
            more_parameters={
                **build_model_parameter(request, model),
                **build_format(request, model),
            },
        )

    def _to_size_failure(
        self, error: RequestTooLargeError, request: CallModel
    ) -> Failure | ModelFailure:
        """Return the failure that ends a run whose request has grown too large; in round 1 the request itself is at fault."""
        if request.round == 1:
            return self._to_failure(error)
        return Failure(
            message=f"The run cannot go on: its next request to the model has {error.size_bytes:,} bytes, "
            f"and Dify's plugin daemon takes {error.limit_bytes:,} at most.",
            reason="size_limit",
        )

    def _to_failure(self, error: Exception) -> ModelFailure:
        text, known = str(error) or type(error).__name__, self._turn.known
        log_failure("a model call", text, known)
        failure = read_call_failure(text, redact=lambda part: redact_log_data(part, known=known))
        return ModelFailure(**asdict(failure))


def find_room(tools: Sequence[PromptMessageTool], models: Iterable[Model]) -> int:
    """Return how many bytes the messages of a request to any of the models may have, besides everything else in its line."""
    others = [tool.model_dump(mode="json") for tool in tools]
    parameters = [model.completion_params for model in models]
    rest = json.dumps([others, parameters], ensure_ascii=False, default=str)
    # If the tools alone fill a line, the call fails by itself and says how large it is.
    return max(_LINE_BYTES - _RESERVE_BYTES - len(rest.encode(errors="replace")), _RESERVE_BYTES)
