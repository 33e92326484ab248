"""Where the programs are that others have written, and the gateways among them, one at a time."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpt5_simulator import ExchangeRecorder
from proxies import KEY, PROXIES, run_proxy
from upstream import serve_chat, serve_responses


def pytest_addoption(parser):
    parser.addoption(
        "--environments", metavar="FOLDER", help="The environments that `nox -s compatible` makes."
    )
    parser.addoption(
        "--ollama",
        metavar="PROGRAM",
        help="A program that serves Ollama's own routes of the Responses API on 127.0.0.1, at the port that it is given.",
    )
    parser.addoption(
        "--llama-converter",
        metavar="PROGRAM",
        help="A program that reads a request on stdin, gives it to llama.cpp's own converter, and prints the error, if there is one.",
    )


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def environments(request):
    """The folder with the environments of the others' packages."""
    return Path(request.config.getoption("--environments")).absolute()


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that runs, and the bodies that have passed on either side of it."""

    name: str
    base_url: str
    recorded: Path
    asked: Callable[[], list[dict[str, Any]]]

    async def hold(self, talk):
        """Hold a conversation; return the answers, the bodies that were sent and those that the upstream got."""
        before = len(self._sent()), len(self.asked())
        said = await talk(self.base_url, PROXIES[self.name].model, KEY)
        return said, self._sent()[before[0] :], self.asked()[before[1] :]

    def _sent(self):
        files = sorted(self.recorded.glob("*.request.json"))
        return [json.loads(path.read_text(encoding="utf-8"))["body"] for path in files]


@pytest.fixture(scope="module", params=PROXIES)
def gateway(request, environments, tmp_path_factory):
    """Run a gateway, with a recorder before it and the fake upstream behind it."""
    name = request.param
    place, recorded = (tmp_path_factory.mktemp(kind) for kind in (name, "recorded"))
    serve = serve_chat if PROXIES[name].asks_for_chat else serve_responses
    with (
        serve() as (upstream, asked),
        run_proxy(name, environments, place, upstream) as url,
        ExchangeRecorder(url, recorded) as recorder,
    ):
        yield Gateway(name, recorder.base_url, recorded, asked)
