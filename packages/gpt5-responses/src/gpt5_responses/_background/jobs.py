"""Jobs: responses that may take hours at a lower price, submitted by one process and collected by another.

Source: `background_options` in `response_create_params.py` of openai 3.54.0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, cast

from gpt5_messages import Completion
from gpt5_prices import COMPLETION_WINDOWS
from gpt5_responses._calls.calls import Call, start_call
from gpt5_responses._errors import InvalidRequestError, UnexpectedResponseError
from gpt5_responses._http.error_messages import instead
from gpt5_responses._pricing import WINDOW_KEY

from .reader import RUNNING


type CompletionWindow = Literal["2h", "8h"]
"""The time within which a job is to be done."""

_NOT_IN_A_WINDOW = (None, "auto", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, in its state when it was submitted or collected.

    The server stores it, with its input, like any background response: for 30 days, or until it is deleted. Projects
    with zero data retention keep it for about 10 minutes after its end, so there it has to be collected often enough.

    Attributes:
        response_id: The id by which any process with the key collects it.
        completion_window: The time within which it is to be done; None if the response was not submitted as a job.
        completion: Everything known about it: the answer once `is_done`, with an `error` if it has failed.
    """

    response_id: str
    completion_window: CompletionWindow | None
    completion: Completion

    @property
    def is_done(self) -> bool:
        """Whether it has ended: completed, incomplete, failed or cancelled."""
        return self.completion.status not in RUNNING

    @property
    def price_factor(self) -> Decimal:
        """The factor on the model's standard prices, for what follows on the response too: 0.70, 0.60, or 1 without a window."""
        return COMPLETION_WINDOWS.get(self.completion_window or "", Decimal(1))


def submit_call(
    body: Mapping[str, Any], completion_window: CompletionWindow, continuation_id: str | None
) -> Call[Completion]:
    """Return the call that submits a job.

    Raises:
        InvalidRequestError: If there is no such window, or the request asks for a tier that cannot have one.
    """
    if completion_window not in COMPLETION_WINDOWS:
        reason = f"must be '2h' or '8h', got {completion_window!r:.50}"
        raise _unsendable("completion_window", reason)
    if body.get("service_tier") not in _NOT_IN_A_WINDOW:
        raise _unsendable("service_tier", "must be the default one for a job with a window")
    metadata: dict[str, str] = {**body.get("metadata", {}), WINDOW_KEY: completion_window}
    options: dict[str, str] = {WINDOW_KEY: completion_window}
    if continuation_id is not None:
        options["continuation_id"] = continuation_id
    return start_call({**body, "metadata": metadata}, options=options)


def read_job(completion: Completion, response_id: str | None = None) -> Job:
    """Return a response as a job.

    Raises:
        UnexpectedResponseError: If the server gave it no id.
    """
    found = completion.response_id or response_id
    if not found:
        raise UnexpectedResponseError(instead("a response without an id"))
    value = completion.metadata.get(WINDOW_KEY)
    window = cast("CompletionWindow", value) if value in COMPLETION_WINDOWS else None
    return Job(response_id=found, completion_window=window, completion=completion)


def _unsendable(field: str, why: str) -> InvalidRequestError:
    return InvalidRequestError(f"The job cannot be submitted: {field} {why}.", param=field)
