"""The server: what can be asked of it, each a few lines over `jobs`, `checking` and `shown`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route

from treadle.core.errors import TreadleError
from treadle.session.settings import for_command_line
from treadle.web.checking import checked, line_of
from treadle.web.form import read_options
from treadle.web.guard import Guard, told
from treadle.web.jobs import Job, Jobs, Limits
from treadle.web.library import Entry, library
from treadle.web.page import EDITOR, web_page
from treadle.web.sent import OFF, Wish
from treadle.web.shown import as_json, execution_html, execution_svg, report_html, summary

MOST_LETTERS = 1_000_000
"""Of a program."""
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,60}\.(py|abs)")
JSON = "application/json"


def application(
    token: str, port: int, worker: Sequence[str], limits: Limits, own: Entry | None = None
) -> Starlette:
    """Return the application; `own` is the file that the user began with."""
    project = Path.cwd() if own is None or own.place is None else own.place
    server = _Server(Jobs(worker, limits), own, project)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await server.jobs.close()

    job = "/jobs/{job}"
    routes = [
        Route("/", server.page),
        Route("/editor.js", server.editor),
        Route("/library", server.entry),
        Route("/check", server.check, methods=["POST"]),
        Route("/jobs", server.apply, methods=["POST"]),
        Route(f"{job}/stop", server.stop, methods=["POST"]),
        Route(f"{job}/news", server.news),
        Route(f"{job}/summary", server.summary),
        Route(f"{job}/report.html", server.report),
        Route(f"{job}/result.json", server.result),
        Route(f"{job}/program", server.program),
        Route(f"{job}/executions/{{number:int}}.html", server.execution),
        Route(f"{job}/executions/{{number:int}}.svg", server.diagram),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={TreadleError: _complain},
        lifespan=lifespan,
    )


async def _complain(request: Request, error: Exception) -> Response:
    """Say what is wrong; of our page, a browser would call each 400 an error in its console."""
    if request.headers.get("accept") == JSON:
        return JSONResponse({"error": str(error)})
    return told("Not there", str(error), 400)


class _Server:
    """What is kept between requests."""

    def __init__(self, jobs: Jobs, own: Entry | None, project: Path) -> None:
        self.jobs = jobs
        self._checking = asyncio.Lock()
        self._project = project
        self._settings = for_command_line(project)
        self._entries = dict(library())
        self._first = own or next(iter(self._entries.values()), Entry("", "", "program.py", "", ""))
        if own is not None:
            self._entries = {own.name: own, **self._entries}

    # The page

    async def page(self, _: Request) -> Response:
        entries = list(self._entries.values())
        return HTMLResponse(web_page(entries, self._first, self._settings))

    async def editor(self, _: Request) -> Response:
        return FileResponse(EDITOR, media_type="text/javascript")

    async def entry(self, request: Request) -> Response:
        entry = self._entries.get(request.query_params.get("name", ""))
        if entry is None:
            raise TreadleError("there is no such program in the library")
        return JSONResponse({"file": entry.file, "program": entry.program, "text": entry.text})

    async def check(self, request: Request) -> Response:
        asked = await _asked(request)
        async with self._checking:  # beside the server: a long text would let the others wait
            found = await asyncio.to_thread(checked, asked["text"], asked["file"])
        return JSONResponse(found)

    # Jobs

    async def apply(self, request: Request) -> Response:
        asked = await _asked(request)
        options = {str(key): str(value) for key, value in asked.get("options", {}).items()}
        guided, contexts = options.pop("guided", OFF), options.pop("contexts", "0")
        if not contexts.isdecimal():
            raise TreadleError(f"contexts must be a whole number, not {contexts!r}")
        read_options(options)  # refused before anything is started
        program = str(asked.get("program", "")).strip()
        entry = self._entries.get(str(asked.get("entry", "")))
        places = [entry.place] if entry is not None and entry.place is not None else []
        wish = Wish(
            asked["file"],
            program,
            options,
            guided,
            int(contexts),
            project=str(self._project),
            places=tuple(map(str, [*places, Path.cwd()])),
        )
        return JSONResponse({"job": self.jobs.start(wish, asked["text"]).name})

    async def stop(self, request: Request) -> Response:
        await self.jobs.stop(self._job(request))
        return JSONResponse({})

    async def news(self, request: Request) -> Response:
        job = self._job(request)

        async def lines() -> AsyncIterator[str]:
            async for one in job.news():
                if one["kind"] == "error":
                    one["line"] = str(line_of(one["text"], job.wish.file))
                yield f"data: {json.dumps(one)}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    # What came out

    async def summary(self, request: Request) -> Response:
        job, result = self._done(request)
        return HTMLResponse(str(summary(result, f"jobs/{job.name}")))

    async def report(self, request: Request) -> Response:
        job, result = self._done(request)
        if not result["report"]:
            raise HTTPException(404)
        return _file(request, report_html(result), "text/html", f"{_stem(job)}.html")

    async def result(self, request: Request) -> Response:
        job, result = self._done(request)
        text = json.dumps(as_json(result), indent=2)
        return _file(request, text, JSON, f"{_stem(job)}.json")

    async def program(self, request: Request) -> Response:
        job = self._job(request)
        return _file(request, job.text, "text/plain", job.wish.file)

    async def execution(self, request: Request) -> Response:
        _, result = self._done(request)
        return HTMLResponse(execution_html(result, _number(request, result)))

    async def diagram(self, request: Request) -> Response:
        job, result = self._done(request)
        number = _number(request, result)
        name = f"{_stem(job)}-{number + 1}.svg"
        return _file(request, execution_svg(result, number), "image/svg+xml", name)

    def _job(self, request: Request) -> Job:
        name = request.path_params["job"]
        if name not in self.jobs:
            raise TreadleError("this exploration is not kept any more: apply again")
        return self.jobs[name]

    def _done(self, request: Request) -> tuple[Job, dict[str, Any]]:
        job = self._job(request)
        if job.result is None:
            raise TreadleError(job.error or "this exploration is not over yet")
        return job, job.result


async def _asked(request: Request) -> dict[str, Any]:
    """Return what a request asks for, as far as it makes sense."""
    body = await request.body()
    try:
        asked = json.loads(body)
        file, text = asked["file"], asked["text"]
        is_right = isinstance(file, str) and isinstance(text, str)
        is_right &= isinstance(asked.get("options", {}), dict)
        (str(file) + str(text)).encode()  # halves of characters cannot be written to a file
    except (ValueError, TypeError, KeyError, RecursionError):
        is_right = False
    if not is_right:
        raise TreadleError("a program is a file's name and its text, with options by name")
    if len(text) > MOST_LETTERS:
        raise TreadleError(f"the program has more than {MOST_LETTERS:,} characters")
    if not _NAME.fullmatch(file):
        raise TreadleError(f"{file!r} is no name for a file: it ends in .py or .abs, without /")
    return dict(asked)


def _number(request: Request, result: dict[str, Any]) -> int:
    number = int(request.path_params["number"]) - 1
    if not 0 <= number < len(result["executions"]):
        raise TreadleError(f"there is no execution {number + 1}")
    return number


def _stem(job: Job) -> str:
    return Path(job.wish.file).stem


def _file(request: Request, text: str, kind: str, name: str) -> Response:
    headers = {}
    if request.query_params.get("download"):
        headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(text, media_type=kind, headers=headers)
