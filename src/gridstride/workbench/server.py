"""The workbench as one application, and the server that runs it until it is told to end."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from nicegui import app as nicegui
from nicegui import ui

from gridstride.course.content import readable_days
from gridstride.course.course_errors import LessonError
from gridstride.course.labs.source_file import read_bytes
from gridstride.course.learner.workspace import make_folder, progress_file, workspace
from gridstride.course.portfolio.site_folder import NAME, PAGE
from gridstride.judge.problem import ProblemError
from gridstride.workbench.dispatch import Dispatcher, slots
from gridstride.workbench.gate import LOCAL, Gate
from gridstride.workbench.jobs import Jobs
from gridstride.workbench.pages import glossary, ladders
from gridstride.workbench.pages.frame import THEME, THEMES
from gridstride.workbench.pages.routes import add_pages
from gridstride.workbench.state import Workbench
from gridstride.workbench.store import Store

_STYLE = (Path(__file__).parent / "workbench.css").read_text()
_ALERTS = """<script>addEventListener("DOMContentLoaded", () => {
    for (const each of document.querySelectorAll(".nicegui-error-popup")) each.setAttribute("role", "alert");
});</script>"""
"""NiceGUI's own words on a lost connection are said to who hears the page, too."""
_RECONNECT = 60.0  # seconds for which a page waits for a browser that lost its connection
_LEAVE = 3  # seconds for requests under way when the server ends
_LARGEST_PAGE = 64 << 20  # bytes of a portfolio's page
_LOCKED_IN = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
              "frame-ancestors 'self'", "x-frame-options": "SAMEORIGIN", "cache-control": "no-store"}  # fmt: skip


class AlreadyUp(RuntimeError):
    """Another workbench serves the same folder; the message has its address."""


@dataclass(frozen=True, slots=True)
class Key:
    """What the gate asks: the secret of its cookies, and the password's hash or None."""

    secret: str
    hashed: str | None


def make_app(workbench: Workbench) -> FastAPI:
    """The pages, reports and files; the queue starts and ends with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await workbench.dispatcher.start()
        yield
        await workbench.dispatcher.stop()
        await workbench.store.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/runs/{number}/report")
    async def report(number: int, request: Request) -> Response:
        page = await workbench.read(lambda progress: Jobs(progress).report(number))
        if page is None:
            return Response("These pictures are no longer kept: run the kernel again.", 404, media_type="text/plain")
        return Response(_coloured(page, request), media_type="text/html", headers=_LOCKED_IN)

    @app.get("/portfolio/site/{name}")
    async def site(name: str, request: Request) -> Response:
        try:
            page = await asyncio.to_thread(_site_page, name)
        except (OSError, ValueError):
            return Response("There is no such page.", 404, media_type="text/plain")
        return Response(_coloured(page, request), media_type="text/html", headers=_LOCKED_IN)

    add_pages(workbench)
    ui.add_css(_STYLE, shared=True)
    ui.add_head_html(_ALERTS, shared=True)
    # Quasar's bar, which has no name, would show requests of its own choosing; what goes on, the pages say in words.
    nicegui.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.run_with(app, title="GridStride", dark=None, tailwind=False, reconnect_timeout=_RECONNECT,
                show_welcome_message=False, language="en-US", favicon=_ICON)  # fmt: skip
    return app


def _site_page(name: str) -> str:
    """A page of the learner's portfolio; OSError, ValueError where there is none."""
    if not PAGE.fullmatch(name):
        raise ValueError(name)
    return read_bytes(workspace() / NAME / name, most=_LARGEST_PAGE).decode()


def _prefetch() -> None:
    """What the first reader of these pages would wait for longer than a page may take."""
    readable_days()
    try:
        glossary.sections()
        ladders.ladder_rows()
    except (LessonError, ProblemError):  # the pages say so
        return


def _coloured(page: str, request: Request) -> str:
    """A report in the colours that this browser's workbench has, where they are not the system's."""
    theme = request.cookies.get(THEME, "auto")
    if THEMES.get(theme) is None:
        return page
    style, end, after_style = page.partition("</style>")
    style = style.replace("(prefers-color-scheme: dark)", "all" if theme == "dark" else "not all")
    return style.replace("color-scheme: light dark", f"color-scheme: {theme}") + end + after_style


def serve(listener: socket.socket, url: str, key: Key, *, on_ready: Callable[[], None]) -> None:
    """Serve on a socket that listens; returns when the server was told to end."""
    address = listener.getsockname()[0].partition("%")[0]
    public = not ipaddress.ip_address(address).is_loopback
    store = Store(progress_file())
    _prefetch()
    app = make_app(Workbench(store, Dispatcher(store, slots=slots()), url, public))
    gate = Gate(app, key.secret, key.hashed, None if public else LOCAL | {address})
    config = uvicorn.Config(gate, log_level=logging.WARNING, access_log=False, ws="wsproto", lifespan="on",
                            timeout_graceful_shutdown=_LEAVE, server_header=False)  # fmt: skip
    _Server(config, on_ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


@contextmanager
def only_one() -> Iterator[Callable[[str], None]]:
    """Inside, this is the only workbench of the learner's folder; AlreadyUp where there is another, ProgressError
    where there is no folder. Tell it the URL.
    """
    make_folder(workspace())
    file = workspace() / "workbench.lock"
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            address = lock.read().strip() or "another address"
            raise AlreadyUp(f"a workbench of {workspace()} is up at {address}: open that one, or end it") from error

        def tell(url: str) -> None:
            lock.truncate(0)
            lock.write(url)
            lock.flush()

        yield tell


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#2856a3"/>'
    '<path d="M7 8h4v4H7zM14 8h4v4h-4zM21 8h4v4h-4zM7 15h4v4H7zM21 15h4v4h-4zM7 22h4v4H7zM14 22h4v4h-4z" fill="#fff"/>'
    "</svg>"
)
