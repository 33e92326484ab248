"""A command for tests, made as the systems make theirs."""

import os
from typing import Literal

from agents import Scripted
from pydantic_settings import SettingsConfigDict
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from typer import Typer

from agent_server.command import serve, takes_settings
from agent_server.settings import ServerSettings


class ToySettings(ServerSettings):
    """The settings of a toy.

    Attributes:
        colour: Of which colour
            it is.
        is_loud: Whether it is loud.
        weight: What it weighs.
    """

    model_config = SettingsConfigDict(env_prefix="TOY_", extra="ignore", hide_input_in_errors=True)

    port: int = 0
    colour: Literal["red", "blue"] = "red"
    is_loud: bool = False
    weight: float


app = Typer(pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@takes_settings(ToySettings, renamed={"TINT": "COLOUR"})
def toy(settings: ToySettings, times: int = 1) -> None:
    """Serve a toy."""

    async def show(_request):
        return PlainTextResponse(f"{settings.colour} {settings.is_loud} {times}")

    async def leaky(_run):
        raise ValueError(f"{os.environ['TOY_API_KEYS']} and {os.environ['MODEL_API_KEY']}")

    serve(Scripted(leaky=leaky), settings, routes=[Route("/toy", show)])
