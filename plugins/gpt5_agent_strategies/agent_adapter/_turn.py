"""The parts of one turn, once the node's parameters are read."""

from dataclasses import dataclass
from typing import Self

from dify_plugin.core.runtime import Session
from dify_plugin.interfaces.agent import AgentStrategy

from stream_text import KnownSecrets

from ._files_at_hand import FilesAtHand
from ._parameters import Parameters
from ._secrets import find_secrets
from ._settings import Settings
from ._tools import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of an agent node.

    Attributes:
        strategy: The called strategy, which builds the messages for Dify.
        parameters: The node's parameters.
        settings: The administrator's settings.
        toolbox: The tools.
        at_hand: The files that the model may choose for them.
        known: The secrets that are redacted wherever they appear.
    """

    strategy: AgentStrategy
    parameters: Parameters
    settings: Settings
    toolbox: Toolbox
    at_hand: FilesAtHand
    known: KnownSecrets

    @classmethod
    def begin(cls, strategy: AgentStrategy, parameters: Parameters, settings: Settings) -> Self:
        """Begin a turn: read the tools, which decide whether files are offered."""
        at_hand = FilesAtHand(strategy.session)
        return cls(
            strategy=strategy,
            parameters=parameters,
            settings=settings,
            toolbox=Toolbox.from_raw(parameters, strategy.session, settings, at_hand),
            at_hand=at_hand,
            known=find_secrets(parameters.tools),
        )

    @property
    def session(self) -> Session:
        """The session through which models, tools and the storage are called."""
        return self.strategy.session
