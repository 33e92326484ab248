"""The layers that Dify adds by default and that do nothing here: there is no shell, and so no skills and files of the agent's.

Source: docs/contracts/dify-agent.md, C72; dify-agent 1.16.0, its `layers/shell/configs.py`, `layers/config/configs.py` and
`layers/drive/configs.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, override

from pydantic import BaseModel, ConfigDict

from dify_agent.compositor import LayerConfig, LayerDeps, PlainLayer

from .dify_plugin.plugin_layer import DifyPluginLayer


__all__ = ["NOT_OFFERED_LAYERS", "NotOfferedLayer"]


_NOTICE: Final = (
    "In this run there is no shell, and skills and files of the agent cannot be opened: do not say that you will"
    " use them."
)


class NotOfferedConfig(LayerConfig):
    """A configuration of whatever fields."""

    model_config = ConfigDict(extra="allow")


class NotOfferedState(BaseModel):
    """A state of which nothing is kept, for it is that of Dify's own server."""

    model_config = ConfigDict(extra="ignore")


class NotOfferedDeps(LayerDeps):
    """The layers that Dify names, and that nothing here needs.

    Attributes:
        execution_context: The layer with the caller.
        runtime: The layer of the place that a shell would run in.
        shell: The layer of a shell.
    """

    execution_context: DifyPluginLayer | None = None
    runtime: "NotOfferedLayer | None" = None
    shell: "NotOfferedLayer | None" = None


@dataclass(slots=True, eq=False)
class NotOfferedLayer(PlainLayer[NotOfferedDeps, NotOfferedConfig, NotOfferedState]):
    """A layer of Dify's that does nothing here.

    Attributes:
        config: What is not read, but for the fields in `PROMISES`.
        PROMISES: The fields of which the model has read elsewhere, in its instruction or a tool's description.
    """

    PROMISES: ClassVar[Sequence[str]] = ()

    config: NotOfferedConfig = field(default_factory=NotOfferedConfig)

    @property
    def has_promised(self) -> bool:
        """Whether the model may have read of something that is not there."""
        known = self.config.model_extra or {}
        return any(known.get(name) for name in self.PROMISES)

    @property
    @override
    def suffix_prompts(self) -> Sequence[str]:
        """Return a sentence about what is not there, unless the shell's layer has it."""
        is_said = self.deps.shell is not None and self.deps.shell.has_promised
        return [_NOTICE] if self.has_promised and not is_said else []


class DifyRuntimeLayer(NotOfferedLayer):
    """The place that a shell would run in."""

    type_id = "dify.runtime"


class DifyShellLayer(NotOfferedLayer):
    """A shell, with tools that are called on its command line."""

    type_id = "dify.shell"
    PROMISES = ("cli_tools",)


class DifyConfigLayer(NotOfferedLayer):
    """The agent's skills and files, which a shell would hold."""

    type_id = "dify.config"
    PROMISES = ("mentioned_skill_names", "mentioned_file_names")


class DifyDriveLayer(NotOfferedLayer):
    """The same in Dify 1.16."""

    type_id = "dify.drive"
    PROMISES = ("mentioned_skill_keys", "mentioned_file_keys")


NOT_OFFERED_LAYERS: Final[Sequence[type[NotOfferedLayer]]] = (
    DifyRuntimeLayer,
    DifyShellLayer,
    DifyConfigLayer,
    DifyDriveLayer,
)
"""The kinds of layers that are taken and do nothing."""
