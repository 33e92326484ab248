"""The decisions about a request that its caller's parameters do not make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ._model_profile import ServiceTier, Summary, SystemRole


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRules:
    """The decisions about the wire that depend neither on the caller's parameters nor on the model; the defaults are those of `build_request`.

    Attributes:
        sends_defaults: Whether what nobody asks for goes out with its default, and the profile of the model decides
            what it takes. If not, only what is asked for is sent, with the two settings of tools and `stream`, and this
            object decides where it and the profile disagree. A subclass sets it.
        store: Whether the server keeps the response.
        include_encrypted_content: Whether reasoning comes back encrypted; None for models that reason.
        summary: The summary to ask for along with a setting of the reasoning, where defaults are not sent.
        system_role: The role under which messages of the system and the developer go out; None for that of the model, for the system's alone.
        service_tier: The tier to ask for, in place of the parameter.
        include_obfuscation: Whether the server pads the events of a stream; None leaves it to the server.
        text: `text` options under those of the parameters.
        send_max_output_tokens: False for servers that refuse the parameter.
        send_sampling_params: False for servers that refuse `temperature` and `top_p`.
    """

    sends_defaults: ClassVar[bool] = True
    store: bool = False
    include_encrypted_content: bool | None = None
    summary: Summary | None = None
    system_role: SystemRole | None = None
    service_tier: ServiceTier | Literal["fast", "scale"] | None = None
    include_obfuscation: bool | None = False
    text: Mapping[str, Any] | None = None
    send_max_output_tokens: bool = True
    send_sampling_params: bool = True
