"""The platform's limits and rules, as numbers and switches."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformRules:
    """The rules of the real platform that the host applies; all but the last three by default.

    Source: langgenius/dify-plugin-daemon at bdb5642a and langgenius/dify, read 2026-10.

    Attributes:
        chunk_rules: Refuse answers that the daemon cannot decode and drop the keys it does not know.
        variable_rules: Refuse variables of tools and strategies that Dify refuses: those named `text`, `json` or
            `files`, and pieces that are no text.
        call_rules: Refuse backwards requests that the daemon cannot decode, such as one with a message whose `opaque_body` is not a list.
        permissions: Refuse backwards calls that the manifest does not ask permission for.
        model_callbacks: Refuse every backwards call of a model plugin.
        filter_features: Hide from strategies the model features that Dify's agent node hides.
        float_numbers: Send numbers through float64 and sort keys wherever Go does.
        always_stream: Stream every backwards LLM call, whatever it asks for, as Dify does.
        tool_files: Hand tools' blobs to strategies as links to tool files, as Dify does.
        drop_opaque_body: Behave like an older Dify core, which loses `opaque_body` everywhere. Off by default.
        silent_exit: Let the callers of a plugin that died wait until the call's time is up. Off by default.
        share_credentials: Pass on to plugins the credentials that were sent for their backwards calls. Off by default.
    """

    chunk_rules: bool = True
    variable_rules: bool = True
    call_rules: bool = True
    permissions: bool = True
    model_callbacks: bool = True
    filter_features: bool = True
    float_numbers: bool = True
    always_stream: bool = True
    tool_files: bool = True
    drop_opaque_body: bool = False
    silent_exit: bool = False
    share_credentials: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingLimits:
    """The limits on how often and how long Dify asks; a plugin's wishes can shorten its time and its attempts, and never lengthen them.

    Source: `LLMPollingConfig` of graphon 0.8.0, read 2026-11-23.

    Attributes:
        min_interval_seconds: The shortest wait between two questions.
        max_interval_seconds: The longest.
        max_wait_seconds: The most time for an answer in all.
        max_attempts: The most times that it is asked for after the start.
        wake_seconds: The interval at which a wait is interrupted, in Dify to see whether the user has stopped the run.
    """

    min_interval_seconds: float = 1.0
    max_interval_seconds: float = 30.0
    max_wait_seconds: float = 7200.0
    max_attempts: int = 240
    wake_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """The limits of the platform; the defaults are those of an untouched daemon.

    Attributes:
        start_timeout_seconds: How long the first heartbeat may take.
        heartbeat_timeout_seconds: How long a running plugin may go without a heartbeat.
        call_timeout_seconds: How long one call of a plugin may take in all.
        backwards_timeout_seconds: How long one backwards call may take in all, streaming or not.
        stop_timeout_seconds: How long a plugin may take to end after SIGTERM before SIGKILL.
        line_limit_bytes: The longest line that a plugin may write to stdout.
        blob_limit_bytes: The largest blob that chunks may add up to.
        blob_chunk_limit_bytes: The largest single blob chunk.
        file_link_seconds: How long a link to a file lives (Dify's `FILES_ACCESS_TIMEOUT`).
        send_format: How a model gets files: with their bytes, or by a link (Dify's `MULTIMODAL_SEND_FORMAT`).
        polling: How often and how long a model that is polled is asked for its answer.
        rules: The rules to apply.
    """

    start_timeout_seconds: float = 120.0
    heartbeat_timeout_seconds: float = 120.0
    call_timeout_seconds: float = 600.0
    backwards_timeout_seconds: float = 240.0
    stop_timeout_seconds: float = 5.0
    line_limit_bytes: int = 5 * 1024 * 1024
    blob_limit_bytes: int = 15 * 1024 * 1024
    blob_chunk_limit_bytes: int = 8192
    file_link_seconds: float = 300.0
    send_format: Literal["base64", "url"] = "base64"
    polling: PollingLimits = field(default_factory=PollingLimits)
    rules: PlatformRules = field(default_factory=PlatformRules)
