"""The environment variables of a script."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from agent_runner._errors import ConfigurationError


ENV_FILE = ".env"
REQUEST_VARIABLE = "AGENT_RUNNER_REQUEST_ID"
ATTEMPT_VARIABLE = "AGENT_RUNNER_ATTEMPT_ID"  # Marks its processes: see `kill_marked`.

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_INHERITED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "UV_CACHE_DIR",
        "UV_CONFIG_FILE",
        "UV_DEFAULT_INDEX",
        "UV_EXCLUDE_NEWER",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
        "UV_INDEX",
        "UV_INDEX_URL",
        "UV_LINK_MODE",
        "UV_NATIVE_TLS",
        "UV_NO_CACHE",
        "UV_OFFLINE",
        "UV_PYTHON",
        "UV_PYTHON_INSTALL_DIR",
        "UV_PYTHON_PREFERENCE",
        "UV_SYSTEM_CERTS",
    ]
)
# The lowest layer, which every other may override: no surprise downloads of interpreters, no traces
# sent to OpenAI, and UTF-8 on all three pipes whatever the locale.
_DEFAULTS = {
    "UV_PYTHON_DOWNLOADS": "never",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "PYTHONIOENCODING": "utf-8",
}
# The highest layer: output must arrive as it is written.
_FIXED = {"PYTHONUNBUFFERED": "1"}


@dataclass(kw_only=True, eq=False, repr=False)  # which would show secrets
class EnvironmentSettings:
    """The part of a script's environment that the runner's owner sets.

    Attributes:
        default_model: Value of `OPENAI_DEFAULT_MODEL` unless `.env` sets one; None sets none.
        production_env: Variables that override `.env`.
        pass_env: Further variables of the runner's own environment that the script may see.
    """

    default_model: str | None = None
    production_env: Mapping[str, str] | None = None
    pass_env: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIds:
    """The ids of one attempt at a run; empty if nothing is started.

    Attributes:
        runner: The runner's id for the run, which all attempts share.
        attempt: Distinguishes this attempt from the others.
        client: The caller's id for the run, or None.
    """

    runner: str = ""
    attempt: str = ""
    client: str | None = None


def build_environment(folder: Path, settings: EnvironmentSettings, ids: RunIds) -> dict[str, str]:
    """Return a script's whole environment.

    From low to high: defaults, the allowed part of the runner's own environment, the default model, the folder's `.env`, the production
    variables, and those that the contract fixes. From the runner's own environment, a script gets only what a process needs to run, find its
    interpreter and reach the network, and what `pass_env` names: the runner keeps its secrets to itself.

    Raises:
        ConfigurationError: If `.env` is not UTF-8, or a variable cannot be passed to a process.
    """
    allowed = _INHERITED.union(settings.pass_env)
    model = settings.default_model
    environment = (
        _DEFAULTS
        | {name: value for name, value in os.environ.items() if name in allowed}
        | ({} if model is None else {"OPENAI_DEFAULT_MODEL": model})
        | read_env_file(folder / ENV_FILE)
        | dict(settings.production_env or {})
        | _FIXED
        | {REQUEST_VARIABLE: ids.runner, ATTEMPT_VARIABLE: ids.attempt}
    )
    for name, value in environment.items():
        _validate_variable(name, value)
    return environment


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file in `.env` form; none if there is no such file.

    `${NAME}` is not expanded, because secrets may contain a dollar sign. A name without `=` is skipped.

    Raises:
        ConfigurationError: If the file is not UTF-8.
    """
    try:
        # A byte order mark, as some editors write it, is not part of the first name.
        values = dotenv_values(path, interpolate=False, encoding="utf-8-sig")
    except ValueError as error:
        raise ConfigurationError(str(path), "expected UTF-8") from error
    return {name: value for name, value in values.items() if value is not None}


def read_production_env(sources: Iterable[str]) -> dict[str, str]:
    """Return the variables of several sources, each `NAME=VALUE` or a path to a file in `.env` form; later ones override earlier ones.

    Raises:
        ConfigurationError: If a source is neither, or a file is not UTF-8.
    """
    variables: dict[str, str] = {}
    for source in sources:
        if setting := _SETTING.fullmatch(source):
            variables[setting[1]] = setting[2]
        elif Path(source).is_file():
            variables |= read_env_file(Path(source))
        else:
            # Not quoted: it may be a secret whose name was forgotten.
            raise ConfigurationError(
                "production env", "expected NAME=VALUE or a path to a file, got neither"
            )
    return variables


def _validate_variable(name: str, value: str) -> None:
    if not name or "=" in name or "\0" in name:
        raise ConfigurationError(
            "environment", f"expected a name that a variable can have, got {name!r}"
        )
    if "\0" in value:
        raise ConfigurationError(name, "expected a value without NUL")
