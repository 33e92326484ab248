"""The settings of `agent-runner serve`, besides those of every server."""

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from agent_server.settings import ServerSettings


__all__ = ["ScriptServerSettings"]


class ScriptServerSettings(ServerSettings):
    """The settings of `agent-runner serve`.

    Attributes:
        on_crash: What happens to a run whose script was running when its server died: it is reported as interrupted (`fail`), or the script is run
            again from its start (`rerun`).
        model: Value of `OPENAI_DEFAULT_MODEL` if the agent's `.env` sets none.
        timeout: Seconds that a script may take.
        max_output_bytes: Bytes that a script may print.
        max_output_lines: Lines that a script may print.
        keep_logs: Log files that stay in an agent's `logs` folder; 0 writes none, for folders that cannot be written to.
    """

    model_config = SettingsConfigDict(
        env_prefix="AGENT_RUNNER_", extra="ignore", hide_input_in_errors=True
    )

    port: int = Field(default=8080, ge=0, le=65535)
    # Larger than other servers': files come as base64, besides the input.
    max_request_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    # Longer than other servers': a script that is ended counts as interrupted, and cannot go on.
    stop_seconds: float = Field(default=30, ge=0)
    on_crash: Literal["fail", "rerun"] = "fail"
    model: str | None = None
    timeout: float = Field(default=600, gt=0)
    max_output_bytes: int = Field(default=16 * 1024 * 1024, ge=1)
    max_output_lines: int = Field(default=100_000, ge=1)
    keep_logs: int = Field(default=50, ge=0)
