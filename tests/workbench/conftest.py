"""What the workbench's tests share: a learner's folder of their own, and pages without a browser."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gridstride.workbench.store import Store

sys.path[:0] = [str(Path(__file__).parent)]

if importlib.util.find_spec("nicegui") is None:
    collect_ignore_glob = ["test_pages.py", "test_server.py", "test_browser.py"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The learner's folder."""
    monkeypatch.setenv("GRIDSTRIDE_COURSE", str(tmp_path / "mine"))
    monkeypatch.delenv("GRIDSTRIDE_PASSWORD", raising=False)
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


Scenario = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def visit(mine: Path) -> Callable[[Scenario], None]:
    """Runs a scenario with NiceGUI's simulated user, in an application of its own."""

    def run(scenario: Scenario) -> None:
        async def main() -> None:
            async with simulated(mine) as (user, workbench):
                await scenario(user, workbench)

        asyncio.run(main())

    return run


@asynccontextmanager
async def simulated(folder: Path) -> AsyncIterator[tuple[Any, Any]]:
    """A user, and the workbench whose pages are opened."""
    import httpx
    from nicegui import Client, core, ui
    from nicegui.testing.general import nicegui_reset_globals, prepare_simulation
    from nicegui.testing.user import User

    from gridstride.workbench.dispatch import Dispatcher
    from gridstride.workbench.pages.routes import add_pages
    from gridstride.workbench.state import Workbench

    before = (ui.navigate, ui.notify, ui.download)
    with nicegui_reset_globals():
        os.environ["NICEGUI_USER_SIMULATION"] = "true"
        store = Store(folder / "progress.sqlite")
        workbench = Workbench(store, Dispatcher(store, slots=1), "http://test", public=False)
        try:
            prepare_simulation()
            add_pages(workbench)
            async with core.app.router.lifespan_context(core.app):
                await workbench.dispatcher.start()
                transport = httpx.ASGITransport(core.app)
                async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                    yield User(client), workbench
                await workbench.dispatcher.stop()
                await store.close()
        finally:
            Client.page_routes.clear()  # or NiceGUI would take our modules out of sys.modules
            ui.navigate, ui.notify, ui.download = before
            os.environ.pop("NICEGUI_USER_SIMULATION", None)
