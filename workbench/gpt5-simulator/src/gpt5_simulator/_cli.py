"""The command `gpt5-simulator`."""

import importlib.metadata
import signal
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer

from gpt5_simulator._errors import SimulatorError
from gpt5_simulator._faults.fault_text import fault_names, parse_fault
from gpt5_simulator._http.recorder import ExchangeRecorder
from gpt5_simulator._http.replay import read_recordings
from gpt5_simulator._http.server import SIMULATOR_KEY, ResponsesSimulator
from gpt5_simulator._likeness import LIKENESSES


_NOT_AS_RECORDED = 1
_BAD_USAGE = 2
_PORT = typer.Option(help="Port on 127.0.0.1; 0 picks a free one.", min=0, max=65535)
_REPLAY = typer.Option(
    help="Answer with this recording (.sse or .response.json), or with all recordings in this folder. May be repeated. Without it the demonstration model answers."
)
_FAULT = typer.Option(
    help="Make a request go wrong, as NAME;setting=value. May be repeated: the first is for the first request, and so on. "
    "Without it nothing goes wrong. "
    f"Names: {', '.join(fault_names())}."
)


def _validated_texts(texts: list[str] | None) -> list[str] | None:
    if not all(text.strip() for text in texts or ()):
        raise typer.BadParameter("expected some text")
    return texts


_API_KEY = typer.Option(
    help=f"Accept this API key. May be repeated. Without it every key is accepted, such as {SIMULATOR_KEY}.",
    callback=_validated_texts,
)
_MODEL = typer.Option(
    help="Serve this model id. May be repeated. Without it all known models that are not retired are served.",
    callback=_validated_texts,
)


def _validated_days(texts: list[str] | None) -> list[str] | None:
    for text in texts or ():
        model, _, day = text.rpartition("=")
        try:
            date.fromisoformat(day if model.strip() else "")  # An empty text is no day, either.
        except ValueError:
            raise typer.BadParameter(f"expected MODEL=YYYY-MM-DD, found {text!r}") from None
    return texts


_SHUTDOWN = typer.Option(
    help="Shut a model down on a day, as MODEL=YYYY-MM-DD. May be repeated. GET /v1/models lists the day; from then on the model is not found. "
    "Without it no model is shut down.",
    callback=_validated_days,
)
_MODELS_STATUS = typer.Option(
    help="HTTP status of GET /v1/models, such as 404 for a server without that route.",
    min=200,
    max=599,
)
_CHUNK_BYTES = typer.Option(
    help="Cut streams into chunks of this many bytes. Without it each event is a chunk.", min=1
)
_DELAY = typer.Option(
    help="Seconds to wait before each chunk of a stream, except the first.", min=0
)
_BACKGROUND = typer.Option(
    help="Seconds that a background response takes: queued for a quarter of them, then in progress.",
    min=0,
)
_LENIENT = typer.Option(
    "--lenient", help="Accept requests that OpenAI would refuse. Without it they are refused."
)
_LIKE = typer.Option(
    help="Take, answer and refuse requests like this server. Without it, like OpenAI. "
    f"Names: {', '.join(LIKENESSES)}.",
    metavar="NAME",
)

_UPSTREAM = typer.Option(
    help="The server to forward to, such as https://api.openai.com/v1: https, or http on a loopback address.",
    metavar="URL",
)
_TO = typer.Option(
    help="The folder for the exchanges. It is created if it is missing; existing files stay.",
    metavar="FOLDER",
)
_FROM = typer.Argument(help="A folder that `record` has written.", metavar="FOLDER")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - so a callback gets its value
    if is_asked:
        typer.echo(f"gpt5-simulator {importlib.metadata.version('gpt5-simulator')}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
)


@app.callback(invoke_without_command=True)
def serve(  # noqa: PLR0913  a command's options are its parameters
    context: typer.Context,
    *,
    port: Annotated[int, _PORT] = 0,
    replay: Annotated[list[Path] | None, _REPLAY] = None,
    fault: Annotated[list[str] | None, _FAULT] = None,
    api_key: Annotated[list[str] | None, _API_KEY] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    shutdown: Annotated[list[str] | None, _SHUTDOWN] = None,
    models_status: Annotated[int, _MODELS_STATUS] = 200,
    chunk_bytes: Annotated[int | None, _CHUNK_BYTES] = None,
    delay_seconds: Annotated[float, _DELAY] = 0.0,
    background_seconds: Annotated[float, _BACKGROUND] = 0.0,
    lenient: Annotated[bool, _LENIENT] = False,
    like: Annotated[str | None, _LIKE] = None,
    _version: Annotated[bool, _VERSION] = False,
) -> None:
    """Serve the OpenAI Responses API on 127.0.0.1 until interrupted. The first line of output is the base URL."""
    if context.invoked_subcommand is not None:
        _validate_alone(context)
        return
    with _serving() as interrupted:
        simulator = ResponsesSimulator(
            port=port,
            replay=read_recordings(replay or ()),
            faults=[parse_fault(text) for text in fault or ()],
            api_keys=api_key,
            models=model,
            shutdown_dates=dict(text.rsplit("=", 1) for text in shutdown or ()),
            models_status=models_status,
            chunk_bytes=chunk_bytes,
            delay_seconds=delay_seconds,
            background_seconds=background_seconds,
            strict=not lenient,
            like=like,
        )
        with simulator:
            typer.echo(simulator.base_url)
            interrupted.wait()


@app.command()
def record(
    *,
    upstream: Annotated[str, _UPSTREAM],
    to: Annotated[Path, _TO],
    port: Annotated[int, _PORT] = 0,
) -> None:
    """Forward requests to one server until interrupted, and write them and their answers to a folder, without credentials.

    It listens on 127.0.0.1. The first line of output is the base URL for the client.
    """
    with (
        _serving() as interrupted,
        ExchangeRecorder(upstream, to, port=port, report=_tell) as recorder,
    ):
        typer.echo(recorder.base_url)
        interrupted.wait()


@app.command()
def replay(*, folder: Annotated[Path, _FROM], port: Annotated[int, _PORT] = 0) -> None:
    """Answer on 127.0.0.1 from recorded exchanges until interrupted, and refuse requests that were not recorded.

    The first line of output is the base URL. The exit code is 1 if a request differed, or if a recorded one never came.
    """
    with _serving() as interrupted:
        simulator = ResponsesSimulator(port=port)
        simulator.replay(folder, report=_tell)
        with simulator:
            typer.echo(simulator.base_url)
            interrupted.wait()
        try:
            simulator.assert_used()
        except AssertionError as error:
            _tell(str(error))
            raise typer.Exit(_NOT_AS_RECORDED) from error


def main() -> None:
    """Run the command."""
    app()


def _validate_alone(context: typer.Context) -> None:
    """Refuse options that stand before a command's name: they are the server's, and the command would ignore them."""
    sources = map(context.get_parameter_source, context.params)
    if any(source is not None and source.name == "COMMANDLINE" for source in sources):
        raise typer.BadParameter(f"options go after {context.invoked_subcommand!r}")


@contextmanager
def _serving() -> Generator[Event]:
    """Yield an event that an interrupt sets, even one that comes before the server is up; tell errors and exit with 2."""
    interrupted = Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        interrupted.set()

    # By signals, so that both end the `with` block in order and the exit code is 0. Tests run the command
    # in their own process, hence the handlers of before are put back.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    except SimulatorError as error:
        _tell(str(error))
        raise typer.Exit(_BAD_USAGE) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(text: str) -> None:
    typer.echo(f"gpt5-simulator: {text}", err=True)
