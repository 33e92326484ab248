"""The command `gpt5-simulator`."""

import signal
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer

from gpt5_simulator._errors import FaultError, RecordingError, SimulatorError
from gpt5_simulator._fault_text import fault_names, parse_fault
from gpt5_simulator._replay import load_recordings
from gpt5_simulator._server import ResponsesSimulator


_FAILED = 1
_BAD_USAGE = 2
_PORT = typer.Option(help="Port on the loopback interface; 0 takes a free one.", min=0, max=65535)
_REPLAY = typer.Option(help="Recording (.sse or .response.json) or a folder of them; repeatable.")
_FAULT = typer.Option(
    help=f"What goes wrong, as NAME;setting=value; repeatable, one a request. Names: none, {', '.join(fault_names())}."
)
_API_KEY = typer.Option(help="Accepted API key; repeatable. Without it any key will do.")
_MODEL = typer.Option(help="Served model id; repeatable. Without it all known ones are served.")
_MODELS_STATUS = typer.Option(help="Status of GET /v1/models, such as 404.", min=200, max=599)
_CHUNK_BYTES = typer.Option(help="Cut streams into chunks of this many bytes.", min=1)
_DELAY = typer.Option(help="Seconds to wait before every chunk of a stream but the first.", min=0)
_LENIENT = typer.Option("--lenient", help="Do not check requests as a real server does.")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def serve(  # noqa: PLR0913  a command's options are its parameters
    *,
    port: Annotated[int, _PORT] = 0,
    replay: Annotated[list[Path] | None, _REPLAY] = None,
    fault: Annotated[list[str] | None, _FAULT] = None,
    api_key: Annotated[list[str] | None, _API_KEY] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    models_status: Annotated[int, _MODELS_STATUS] = 200,
    chunk_bytes: Annotated[int | None, _CHUNK_BYTES] = None,
    delay_seconds: Annotated[float, _DELAY] = 0.0,
    lenient: Annotated[bool, _LENIENT] = False,
) -> None:
    """Serve the OpenAI Responses API on 127.0.0.1 until interrupted; the first line of output is the base URL."""
    try:
        simulator = ResponsesSimulator(
            port=port,
            replay=load_recordings(replay or ()),
            faults=[parse_fault(text) for text in fault or ()],
            api_keys=api_key,
            models=model,
            models_status=models_status,
            chunk_bytes=chunk_bytes,
            delay_seconds=delay_seconds,
            strict=not lenient,
        )
        with simulator:
            typer.echo(simulator.base_url)
            _wait_for_interrupt()
    except (FaultError, RecordingError) as error:
        raise _ended(error, _BAD_USAGE) from error
    except SimulatorError as error:
        raise _ended(error, _FAILED) from error


def main() -> None:
    """Run the command."""
    app()


def _wait_for_interrupt() -> None:
    interrupted = Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        interrupted.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    interrupted.wait()
    for number, handler in before.items():
        signal.signal(number, handler)


def _ended(error: SimulatorError, code: int) -> typer.Exit:
    typer.echo(f"gpt5-simulator: {error}", err=True)
    return typer.Exit(code)
