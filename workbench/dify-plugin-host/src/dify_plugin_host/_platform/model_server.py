"""Choice of the Responses server: OpenAI or a compatible one if the environment names it, else the simulator."""

import contextlib
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dify_plugin_host._errors import PluginHostError


_KEY, _URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"


class ServerAddressError(PluginHostError):
    """An invalid server address in the environment."""


class SimulatorStartError(PluginHostError):
    """A simulator that cannot be run on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """The server that answers, with the credentials and the environment by which plugins reach it.

    Attributes:
        description: For people; never holds the key.
        credentials: For the model plugin.
        environment: For the plugins' processes.
        url_setting: The environment variable with its address; None if there is none.
    """

    description: str
    credentials: Mapping[str, str] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    url_setting: str | None = None


def open_server(environment: Mapping[str, str]) -> AbstractContextManager[ModelServer]:
    """Find the server that the environment names; run the simulator if it names none.

    Raises:
        ServerAddressError: If `OPENAI_BASE_URL` is not an address.
        SimulatorStartError: If the simulator does not start.
    """
    named = named_server(environment)
    return contextlib.nullcontext(named) if named else open_simulator(environment)


def named_server(environment: Mapping[str, str]) -> ModelServer | None:
    """Return the server that the environment names, if it names one.

    Raises:
        ServerAddressError: If `OPENAI_BASE_URL` is not an address.
    """
    key, url = environment.get(_KEY, "").strip(), environment.get(_URL, "").strip()
    if not (key or url):
        return None
    # A compatible server may need no key, but the provider's form requires one.
    credentials = {"openai_api_key": key or "none"}
    description = "OpenAI at https://api.openai.com/v1"
    if url:
        description = f"the OpenAI-compatible server at {_shown_address(url)}"
        credentials["openai_api_base"] = url
    return ModelServer(
        description=description,
        credentials=credentials,
        environment=without_server(environment),
        url_setting=_URL if url else None,
    )


def open_wanted(
    environment: Mapping[str, str], *, simulator: bool
) -> AbstractContextManager[ModelServer | None]:
    """Run the simulator if it is wanted; otherwise find the server that the environment names, if it names one.

    Raises:
        ServerAddressError: If `OPENAI_BASE_URL` is not an address.
        SimulatorStartError: If the simulator does not start.
    """
    if simulator:
        return open_simulator(environment)
    return contextlib.nullcontext(named_server(environment))


def without_server(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that names no server, and no proxy for this machine.

    Plugins get their settings as credentials, as in Dify, and must not find others in the environment. Files and the simulator are on
    this machine, which the proxy that many networks prescribe cannot reach.
    """
    rest = {name: value for name, value in environment.items() if name not in {_KEY, _URL}}
    excepted = rest.get("NO_PROXY") or rest.get("no_proxy") or ""
    names = ",".join(filter(None, [excepted, "127.0.0.1"]))
    return {**rest, "NO_PROXY": names, "no_proxy": names}


@contextlib.contextmanager
def open_simulator(environment: Mapping[str, str]) -> Generator[ModelServer]:
    """Run the simulator.

    Raises:
        SimulatorStartError: If it does not start.
    """
    # Only here, because it takes long to import and is not needed with a server.
    from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator, SimulatorError  # noqa: PLC0415

    rest = without_server(environment)
    with contextlib.ExitStack() as stack:
        try:
            simulator = stack.enter_context(ResponsesSimulator())
        except SimulatorError as error:
            raise SimulatorStartError(f"the built-in simulator did not start: {error}") from None
        yield ModelServer(
            description="the built-in simulator (gpt5-simulator), no key needed",
            credentials={"openai_api_key": SIMULATOR_KEY, "openai_api_base": simulator.base_url},
            environment=rest,
        )


def _shown_address(url: str) -> str:
    """Return a URL without the parts that may be secret.

    Raises:
        ServerAddressError: If it is not a URL.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        # The value is not quoted, because it may hold a password.
        raise ServerAddressError(f"{_URL}: expected an address such as https://api.openai.com/v1")
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
