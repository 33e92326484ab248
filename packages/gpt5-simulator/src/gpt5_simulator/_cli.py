"""The command `gpt5-simulator`."""

import signal
from datetime import date
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer

from gpt5_simulator._errors import SimulatorError
from gpt5_simulator._faults.fault_text import fault_names, parse_fault
from gpt5_simulator._http.replay import read_recordings
from gpt5_simulator._http.server import SIMULATOR_KEY, ResponsesSimulator
from gpt5_simulator._model.hosted_results import read_results_file


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
_HOSTED_RESULTS = typer.Option(
    help="JSON file with the results of hosted tools. Without it there are a few examples.",
    metavar="FILE.json",
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

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def serve(  # noqa: PLR0913  a command's options are its parameters
    *,
    port: Annotated[int, _PORT] = 0,
    replay: Annotated[list[Path] | None, _REPLAY] = None,
    fault: Annotated[list[str] | None, _FAULT] = None,
    api_key: Annotated[list[str] | None, _API_KEY] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    shutdown: Annotated[list[str] | None, _SHUTDOWN] = None,
    models_status: Annotated[int, _MODELS_STATUS] = 200,
    hosted_results: Annotated[Path | None, _HOSTED_RESULTS] = None,
    chunk_bytes: Annotated[int | None, _CHUNK_BYTES] = None,
    delay_seconds: Annotated[float, _DELAY] = 0.0,
    background_seconds: Annotated[float, _BACKGROUND] = 0.0,
    lenient: Annotated[bool, _LENIENT] = False,
) -> None:
    """Serve the OpenAI Responses API on 127.0.0.1 until interrupted. The first line of output is the base URL."""
    try:
        simulator = ResponsesSimulator(
            port=port,
            replay=read_recordings(replay or ()),
            faults=[parse_fault(text) for text in fault or ()],
            api_keys=api_key,
            models=model,
            shutdown_dates=dict(text.rsplit("=", 1) for text in shutdown or ()),
            models_status=models_status,
            hosted_results=None if hosted_results is None else read_results_file(hosted_results),
            chunk_bytes=chunk_bytes,
            delay_seconds=delay_seconds,
            background_seconds=background_seconds,
            strict=not lenient,
        )
        with simulator:
            typer.echo(simulator.base_url)
            _wait_for_interrupt()
    except SimulatorError as error:
        typer.echo(f"gpt5-simulator: {error}", err=True)
        raise typer.Exit(_BAD_USAGE) from error


def main() -> None:
    """Run the command."""
    app()


def _wait_for_interrupt() -> None:
    interrupted = Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        interrupted.set()

    # By signals, so that both end the `with` block in order and the exit code is 0. Tests run the command
    # in their own process, hence the handlers of before are put back.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    interrupted.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
