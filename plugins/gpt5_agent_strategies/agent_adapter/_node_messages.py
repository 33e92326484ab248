"""The messages of a turn for Dify's agent node: texts, files, entries in the log, sources and figures."""

from collections.abc import Iterator

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage

from agent_loop import (
    AgentRun,
    CallModel,
    Event,
    Finished,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    ShowFile,
    ShowText,
    ToolCallEnded,
    ToolCallStarted,
)
from dify_plugin_kit.stdout import split_text
from stream_text import MarkdownGuard

from ._answer_schema import to_json_object
from ._dify_log import DifyLog
from ._plugin_log import log_unused
from ._sources import build_resources
from ._turn import Turn
from ._usage import build_execution_metadata


_OLD_FILES = "Images and files replaced by a sentence: no room in the request"
_TOOK_OVER = "Another model takes over, because the first has failed"


class NodeMessages:
    """A builder of the messages that a turn sends to Dify.

    Args:
        turn: The turn.

    Attributes:
        dify_log: The messages for the log of the node.
        model: The model that the last round has called.
        shown: The texts that the turn has shown.
    """

    def __init__(self, turn: Turn) -> None:
        self.dify_log = DifyLog(turn)
        self.model = turn.parameters.model.full_name
        self._strategy, self._parameters, self._known = turn.strategy, turn.parameters, turn.known
        self._guard = MarkdownGuard()
        self.shown: list[str] = []

    def warn(
        self, label: str, lines: tuple[str, ...], *, about: str = "left_out"
    ) -> Iterator[InvokeMessage]:
        """Log, in Dify and in the plugin's own log, what was given but is not used, and anything else unusual."""
        if lines:
            log_unused(label, lines, self._known)
            yield self.dify_log.warn(label, lines, about=about)

    def show(self, text: str) -> Iterator[InvokeMessage]:
        """Show a text, without leading line breaks if it is the first one of the turn."""
        text = text if self.shown else text.lstrip("\n")
        if text:
            self.shown.append(text)
        # In pieces, because a line of over 5 MiB would end the plugin.
        yield from map(self._strategy.create_text_message, split_text(text))

    def show_question(self, text: str) -> Iterator[InvokeMessage]:
        """Show a question, after closing the Markdown that the model's text has left open."""
        return self.show(f"{self._guard.close()}{text}")

    def emit(self, event: Event, run: AgentRun) -> Iterator[InvokeMessage]:
        """Yield the messages for an event of a run."""
        match event:
            case ShowText(text=text):
                yield from self.show(self._escape(text, run))
            case ShowFile(file=file):
                yield file
            case CallModel(left_out=count) if count:
                yield from self.warn(_OLD_FILES, (f"{count} images or files of the request",))
            case RoundStarted():
                self._guard.set_apart()
                yield from self._report_model(event)
                yield from self.dify_log.start_round(event)
            case RunCompacted():
                yield self.dify_log.compacted(event)
            case ModelCallEnded():
                yield from self.dify_log.end_model_call(event)
            case ToolCallStarted():
                yield from self.dify_log.start_tool_call(event)
            case ToolCallEnded():
                yield from event.result.artifact or ()
                yield from self.dify_log.end_tool_call(event)
            case RoundEnded():
                yield from self.dify_log.end_round(event)
            case _:
                pass

    def _escape(self, text: str, run: AgentRun) -> str:
        """Return a text of a run, escaped so that it cannot hide a question behind it.

        An answer by a schema is not Markdown and comes last, so it stays unchanged.
        """
        is_value = self._parameters.answer_schema and run.state == "finished"
        is_plain = self._parameters.approval_rules is None or is_value
        return text if is_plain else self._guard.feed(text)

    def _report_model(self, event: RoundStarted) -> Iterator[InvokeMessage]:
        """Report that another model takes over."""
        if event.model is not None and event.model != self.model:
            self.model = event.model
            model = f"{event.model}, from round {event.round} on"
            yield from self.warn(_TOOK_OVER, (model,), about="model")

    def emit_sources(self) -> Iterator[AgentInvokeMessage]:
        """Yield the sources of the answer, if there are any."""
        if resources := build_resources(self._parameters.context):
            yield self._strategy.create_retriever_resource_message(resources, context="")

    def emit_value(self, finished: Finished | None, run: AgentRun) -> Iterator[AgentInvokeMessage]:
        """Yield the answer as JSON, if the node has a schema for it and the run is answered."""
        # A turn that ends with a question has figures as well, but no answer yet.
        has_value = run.state == "finished" and self._parameters.answer_schema is not None
        if has_value and finished is not None and finished.is_answered:
            yield self._strategy.create_json_message(to_json_object(finished.value))

    def emit_final_answer(self, finished: Finished | None) -> Iterator[AgentInvokeMessage]:
        """Yield the answer alone, as the node's output of that name, for nodes that read it on."""
        if finished is not None and finished.is_answered:
            # Streamed, also as one piece or none: Dify's answers show nothing of a variable that comes whole.
            for piece in split_text(finished.final_text) or [""]:
                yield self._strategy.create_stream_variable_message("final_answer", piece)

    def emit_figures(self, finished: Finished | None) -> Iterator[AgentInvokeMessage]:
        """Yield the figures of the turn, which Dify takes tokens, price and time from."""
        if finished is not None:
            yield self._strategy.create_json_message(build_execution_metadata(finished))
