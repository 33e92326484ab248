"""The page and the data for it: JSON about the runs of a folder, their long texts, and events when there is something new."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from run_log import RunLogError, RunSummary, find_run
from stream_text import is_object

from ._chain import RunChain, join_runs
from ._compare import compare_runs
from ._files import answer_file
from ._fixture import write_fixture
from ._guard import Guard, with_headers
from ._index import RunIndex
from ._media import find_media_type, read_media
from ._rounds import to_seconds
from ._search import search_runs
from ._summaries import Summaries


STATIC: Final = Path(__file__).with_name("static")

_OPEN_RUNS: Final = 128  # indexes in memory, of the runs and parts of runs that were looked at last
_MAX_ROUNDS: Final = 500
_MAX_HITS: Final = 200
_MAX_RUNS: Final = 100_000
_MAX_TEXT: Final = 2_000_000
_LOOK_SECONDS: Final = 0.3
_WAITING_LOOK_SECONDS: Final = 3.0
_ALIVE_SECONDS: Final = 12.0  # Only what is sent shows whether the browser is still there.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAgain:
    """A request from the page to run a run again.

    Attributes:
        path: The run's file.
        round: The round to begin with, from 1: the answers and results before it stay as they were.
        instruction: The instruction to use instead of the recorded one; None keeps that.
        model: The model to use instead of the recorded one; None keeps that.
        token: The value of `about["again"]["id"]` in the new run's first record, by which the page finds it.
    """

    path: Path
    round: int
    instruction: str | None
    model: str | None
    token: str

    @property
    def about(self) -> dict[str, Any]:
        """The value of `about["again"]` in the new run's first record."""
        return {"of": self.path.stem, "round": self.round, "id": self.token}


type Again = Callable[[RunAgain], None]
"""Runs a run again, and returns once it is done. Called in a thread of its own; the page shows its exception."""


def create_app(
    folder: str | Path,
    *,
    key: str,
    port: int | None = None,
    again: Again | None = None,
    models: tuple[str, ...] = (),
) -> ASGIApp:
    """Return an ASGI application that shows the runs of a folder at `/KEY/`, and nothing else of the machine.

    For a page within an application that has its own access control, there is `create_pages`.

    Args:
        folder: The folder of the runs.
        key: A text that nobody can guess.
        port: The port of the server; the header `Host` has to name it.
        again: Runs a run again; None if the page cannot do that.
        models: The models that the page offers for that.
    """
    return Guard(_build(_Pages(Path(folder), again, models)), key=key, port=port)


def create_pages(folder: str | Path, *, name: str) -> ASGIApp:
    """Return an ASGI application that shows the runs of a folder to everybody who can reach it, and changes nothing.

    Mount it within another application, at a path that ends with a slash, behind the access control of that application.

    Args:
        folder: The folder of the runs; it need not exist yet.
        name: The name that the page shows for it: readers of logs need not know their path.
    """
    return with_headers(_build(_Pages(Path(folder), None, (), name=name)))


def _build(pages: "_Pages") -> ASGIApp:
    routes = [
        Route("/", pages.index),
        Route("/static/{name}", pages.static),
        Route("/api/runs", pages.runs),
        Route("/api/search", pages.search_all),
        Route("/api/runs/{run}/compare/{other}", pages.compare),
        Route("/api/runs/{run}", pages.run),
        Route("/api/runs/{run}/rounds", pages.rounds),
        Route("/api/runs/{run}/rounds/{index:int}", pages.round),
        Route("/api/runs/{run}/texts/{digest}", pages.text),
        Route("/api/runs/{run}/files/{digest}", pages.file),
        Route("/api/runs/{run}/search", pages.search),
        Route("/api/runs/{run}/fixture", pages.fixture),
        Route("/api/runs/{run}/events", pages.events),
        Route("/api/runs/{run}/again", pages.start_again, methods=["POST"]),
        Route("/api/again/{token}", pages.again_state),
    ]
    handlers: Any = dict.fromkeys((HTTPException, RunLogError), _answer_problem)
    return Starlette(routes=routes, exception_handlers=handlers)


class _Pages:
    def __init__(
        self, folder: Path, again: Again | None, models: tuple[str, ...], *, name: str = ""
    ) -> None:
        self._folder = folder
        self._name = name or str(folder)
        self._summaries = Summaries(folder)
        self._again = again
        self._models = models
        self._find_index = lru_cache(_OPEN_RUNS)(RunIndex)
        self._jobs: dict[str, dict[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def index(self, _request: Request) -> Response:
        return _serve("index.html")

    def static(self, request: Request) -> Response:
        return _serve(request.path_params["name"])

    def runs(self, request: Request) -> Response:
        """Answer with the newest runs, or with the runs of the agents that any of some runs has called."""
        found = join_runs(self._summaries.list())
        if callers := request.query_params.getlist("called_by"):
            found = [
                parts
                for parts in found
                if any(_find_about(part, "called_by", "run") in callers for part in parts)
            ]
        shown = found[: _number(request, "count", _MAX_RUNS)]
        runs = [_describe(parts) for parts in shown]
        return _answer({"folder": self._name, "total": len(found), "runs": runs})

    def run(self, request: Request) -> Response:
        can = {"can_run_again": self._again is not None, "models": self._models}
        return _answer({**self._open(request).describe(), **can})

    def compare(self, request: Request) -> Response:
        """Answer with two runs side by side."""
        return _answer(compare_runs(self._open(request), self._open(request, "other")))

    def rounds(self, request: Request) -> Response:
        first, count = _number(request, "first", 0), _number(request, "count", 100)
        rows = self._open(request).describe_rounds(first, min(count, _MAX_ROUNDS))
        return _answer({"rounds": rows})

    def round(self, request: Request) -> Response:
        try:
            return _answer(self._open(request).describe_round(request.path_params["index"]))
        except IndexError:
            raise HTTPException(404, "There is no such round.") from None

    def text(self, request: Request) -> Response:
        """Answer with a part of a long text."""
        text = self._find_text(request)
        first = _number(request, "first", 0)
        part = text[first : first + _MAX_TEXT]
        return _answer({"text": part, "first": first, "characters": len(text)})

    def file(self, request: Request) -> Response:
        """Answer with the bytes of a long text that is an image; any other file is sent for saving."""
        text = self._find_text(request)
        data, kind = read_media(text), find_media_type(text)
        if data is None:
            raise HTTPException(404, "This text is no file.")
        # Saved and never opened: a browser would run the scripts of an HTML page or of an SVG.
        name = {} if kind.startswith("image/") else {"content-disposition": "attachment"}
        return Response(data, media_type=kind or "application/octet-stream", headers=name)

    def search(self, request: Request) -> Response:
        query = _query(request)
        hits = list(islice(self._open(request).search(query), _MAX_HITS)) if query else []
        return _answer({"hits": [hit.describe() for hit in hits], "is_cut": len(hits) == _MAX_HITS})

    def search_all(self, request: Request) -> Response:
        query = _query(request)
        found = islice(search_runs(self._folder, query), _MAX_HITS) if query else ()
        runs = [{"run": run, "records": count, **hit.describe()} for run, count, hit in found]
        return _answer({"runs": runs})

    def fixture(self, request: Request) -> Response:
        return PlainTextResponse(write_fixture(self._path(request)))

    async def events(self, request: Request) -> Response:
        """Tell the page when there is something new, until the run has ended for good."""
        path = await run_in_threadpool(self._path, request)
        return StreamingResponse(self._iter_news(path), media_type="text/event-stream")

    async def _iter_news(self, path: Path) -> AsyncGenerator[str]:
        """Yield an event each time that there is something new; comments in between find out whether anybody still listens."""
        run, state, quiet = None, (0, -1), 0.0
        while True:
            # Only a waiting run can gain a part, and only a look at the whole folder shows it.
            look = partial(self._join, path) if run is None or run.waits else run.update
            try:
                run = await run_in_threadpool(look)
            except RunLogError as error:
                yield f"event: gone\ndata: {json.dumps(str(error))}\n\n"
                return
            is_over = run.end is not None and not run.waits
            if run.state != state:
                state, quiet = run.state, 0.0
                news = {"size": state[1], "rounds": len(run.rounds), "is_over": is_over}
                yield f"event: news\ndata: {json.dumps(news)}\n\n"
            if is_over:
                return
            if quiet >= _ALIVE_SECONDS:
                yield ": still here\n\n"
                quiet = 0.0
            pause = _WAITING_LOOK_SECONDS if run.waits else _LOOK_SECONDS
            await asyncio.sleep(pause)
            quiet += pause

    async def start_again(self, request: Request) -> Response:
        """Run a run again, in a thread."""
        if self._again is None:
            raise HTTPException(409, "The program that opened this page cannot run it again.")
        asked = _read_again(self._path(request), await request.body())
        self._jobs[asked.token] = {"state": "running", "error": None}
        task = asyncio.create_task(self._run_again(self._again, asked))
        self._tasks.add(task)  # The event loop itself holds a task only weakly.
        task.add_done_callback(self._tasks.discard)
        return _answer({"token": asked.token})

    async def _run_again(self, again: Again, asked: RunAgain) -> None:
        job = self._jobs[asked.token]
        try:
            await asyncio.to_thread(again, asked)
        except Exception as error:  # noqa: BLE001 - code of the program that opened the page
            job |= {"state": "failed", "error": str(error) or type(error).__name__}
        else:
            job["state"] = "done"

    def again_state(self, request: Request) -> Response:
        """Answer with the state of a run that was run again, and with its name once it has a file."""
        token = request.path_params["token"]
        if token not in self._jobs:
            raise HTTPException(404, "Nothing was run again under that token.")
        job = dict(self._jobs[token])
        newest = self._summaries.list()[:20]
        tokens = {_find_about(one, "again", "id"): one.path.stem for one in newest}
        return _answer({**job, "run": tokens.get(token)})

    def _path(self, request: Request, name: str = "run") -> Path:
        path = find_run(self._folder, request.path_params[name])
        if path is None:
            raise HTTPException(404, "There is no such run in this folder.")
        return path

    def _open(self, request: Request, name: str = "run") -> RunChain:
        return self._join(self._path(request, name))

    def _join(self, path: Path) -> RunChain:
        """Return a run, joined with the runs that it continues and those that continue it.

        Raises:
            RunLogError: If a file cannot be read.
        """
        index = self._read(path)
        if not index.waits and "resumes" not in index.start:
            return RunChain(path.stem, [index])  # As for most runs, without a look at the folder.
        chains = [[one.path for one in parts] for parts in join_runs(self._summaries.list())]
        # The newest chain comes first, so the newest of several continuations is shown.
        joined = next((parts for parts in chains if path in parts), [path])
        others = [
            parts[-1].stem
            for parts in chains
            if parts != joined and not set(parts).isdisjoint(joined)
        ]
        return RunChain(path.stem, [self._read(part) for part in joined], others)

    def _read(self, path: Path) -> RunIndex:
        index = self._find_index(path)
        index.update()
        return index

    def _find_text(self, request: Request) -> str:
        text = self._open(request).find_text(request.path_params["digest"])
        if text is None:
            raise HTTPException(404, "This text is not in the log.")
        return text


def _read_again(path: Path, body: bytes) -> RunAgain:
    try:
        asked = json.loads(body)
        number, instruction, model = asked["round"], asked["instruction"], asked["model"]
    except (ValueError, KeyError, TypeError):
        raise HTTPException(422, "Expected round, instruction and model.") from None
    if not isinstance(number, int) or number < 1:
        raise HTTPException(422, "round: expected a whole number from 1.")
    for name, value in (("instruction", instruction), ("model", model)):
        if not isinstance(value, str | None):
            raise HTTPException(422, f"{name}: expected a text.")
    token = secrets.token_hex(8)
    return RunAgain(
        path=path, round=number, instruction=instruction, model=model or None, token=token
    )


def _serve(name: str) -> Response:
    answer = answer_file(name, STATIC)
    if answer is None:
        raise HTTPException(404, "There is no such file.")
    return answer


def _describe(parts: Sequence[RunSummary]) -> dict[str, Any]:
    """Return a run as a row.

    Its question comes from its first part, and its ending from its last, whose usage and rounds include those of the
    others.
    """
    first, last = parts[0], parts[-1]
    ends = [part.end for part in parts if part.end is not None]
    return {
        "run": last.path.stem,
        "parts": len(parts),
        "time": first.time,
        "seconds": sum(to_seconds(end) for end in ends),
        "size": sum(part.size_bytes for part in parts),
        "about": dict(first.about),
        "end": last.end,
        "problems": [str(problem) for part in parts for problem in part.problems],
        "error": last.error,
    }


def _find_about(summary: RunSummary, name: str, member: str) -> str:
    """Return a member of an object in the information about a run; empty if it has none."""
    found = summary.about.get(name)
    return str(found.get(member)) if is_object(found) else ""


def _answer(value: Any) -> Response:
    """Return JSON; halves of surrogate pairs, which a log may have, stay as escapes."""
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 12 else default  # noqa: PLR2004 - a longer number makes no sense


def _query(request: Request) -> str:
    return request.query_params.get("q", "").strip()[:500]


def _answer_problem(_request: Request, error: HTTPException | RunLogError) -> Response:
    """Return a problem document.

    Source: https://www.rfc-editor.org/rfc/rfc9457.
    """
    if isinstance(error, RunLogError):
        error = HTTPException(422, str(error))
    status = error.status_code
    problem = {"title": HTTPStatus(status).phrase, "status": status, "detail": error.detail}
    return JSONResponse(problem, status, error.headers, media_type="application/problem+json")
