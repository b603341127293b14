"""What all pages share: the frame with its links, light and dark, and words for what went wrong."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from gridstride.course.course_errors import LessonError, NoSuchDay, ProgressError
from gridstride.plain import plain
from gridstride.workbench.gate import SESSION
from gridstride.workbench.state import Workbench

_LINKS = (("Days", "/"), ("Ladders", "/ladders"), ("Glossary", "/glossary"), ("History", "/history"),
          ("Portfolio", "/portfolio"), ("Chat", "/chat"), ("Settings", "/settings"))  # fmt: skip
THEMES: dict[str, bool | None] = {"auto": None, "light": False, "dark": True}
THEME = "gridstride_theme"
"""The cookie that has it."""
_YEAR = 365 * 86400


def session() -> str:
    """The browser session that this page belongs to."""
    return str(ui.context.client.request.scope.get(SESSION, ""))


def theme() -> str:
    """What this browser asked for: auto, light or dark."""
    chosen = ui.context.client.request.cookies.get(THEME, "auto")
    return chosen if chosen in THEMES else "auto"


def choose_theme(name: str, dark: ui.dark_mode) -> None:
    """Show this page so, and the next ones in this browser."""
    dark.value = THEMES[name]
    ui.run_javascript(f'document.cookie = "{THEME}={name}; path=/; max-age={_YEAR}; samesite=strict"')


async def show(workbench: Workbench, title: str, build: Callable[[], Awaitable[None]]) -> None:
    """A page, or in its place what is in the way of it."""
    with frame(workbench, title):
        try:
            await build()
        except NoSuchDay as error:
            not_there(str(error), "To the days", "/")
        except (ProgressError, LessonError) as error:
            trouble(str(error))
            ui.link("To the days", "/")


def not_there(text: str, onward: str, path: str) -> None:
    """What is asked for does not exist, also for who reads the status alone; `onward` leads on."""
    ui.context.client.status_code = 404
    trouble(text)
    ui.link(onward, path)


@contextmanager
def frame(workbench: Workbench, title: str) -> Iterator[None]:
    """Inside, elements are the page's own."""
    ui.page_title(f"{title} – GridStride" if title else "GridStride")
    dark = ui.dark_mode(THEMES[theme()])
    with ui.element("header").classes("bar"):
        ui.link("GridStride", "/").classes("brand")
        with ui.element("nav").props('aria-label="Pages"'):
            for name, path in _LINKS:
                is_current = ui.context.client.request.url.path == path
                ui.link(name, path).props('aria-current="page"' if is_current else "")
        theme_button(dark)
    with ui.element("div").classes("page") as main:  # NiceGUI puts it into a <main>
        for notice in workbench.store.notices:
            trouble(notice)
        yield
    ui.skip_link(target=main)


def theme_button(dark: ui.dark_mode) -> None:
    """Goes from auto to light to dark."""
    names = [*THEMES]
    chosen = [theme()]

    def turn() -> None:
        chosen[0] = names[(names.index(chosen[0]) + 1) % len(names)]
        choose_theme(chosen[0], dark)
        turned.text = chosen[0]

    turned = ui.button(chosen[0], on_click=turn, color=None).props("flat no-caps dense").classes("theme")
    turned.props('aria-label="Colours: auto, light or dark"')


def trouble(text: str) -> None:
    """What went wrong, in words."""
    with ui.element("div").classes("trouble").props('role="alert"'):
        ui.label(plain(text))


def button(text: str, action: Callable[..., object], *, strong: bool = False) -> ui.button:
    """A button of this workbench; where its action cannot be done, that is said."""

    async def act() -> None:
        try:
            done = action()
            if isinstance(done, Awaitable):
                await done
        except (ProgressError, LessonError) as error:
            ui.notify(plain(str(error)), type="negative", multi_line=True, close_button="Close", timeout=0)

    shape = "no-caps unelevated" if strong else "no-caps outline"
    return ui.button(text, on_click=act, color=None).props(shape).classes("act")


class OnAsking:
    """What a line opens, put on the page when it is asked for: all at once would keep the page waiting."""

    def __init__(self, line: str, build: Callable[[], object]) -> None:
        self._build, self._shown = build, False
        with ui.element("details").classes("source") as details:
            with ui.element("summary"):
                ui.label(line)
            self._area = ui.element("div")
        details.on("toggle", self._show)

    def _show(self) -> None:
        if not self._shown:
            self._shown = True
            with self._area:
                self._build()


def embedded(path: str, title: str) -> None:
    """A page of the report's kind inside this one, with no scripts and no way to this one."""
    frame = ui.element("iframe").classes("report").props(f'src="{path}" title="{title}"')
    frame.props["sandbox"] = ""


def seconds_since(began: float) -> str:
    """How long something has taken, for a line that is shown while it goes on."""
    return f"{time.monotonic() - began:.0f} s"
