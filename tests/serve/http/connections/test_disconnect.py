"""Work ends when its client goes, and only then; whoever cancels it for another reason sees that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.errors import ClientGone


class Client:
    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def forever(log: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        log.append("cleaned up")


def test_what_the_work_gives_is_given() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async def main() -> int:
        return await unless_gone(Client().receive, work())

    assert asyncio.run(main()) == 7


def test_a_client_that_goes_ends_the_work_and_nothing_else() -> None:
    async def main() -> list[str]:
        client, log = Client(), []
        asyncio.get_running_loop().call_later(0.01, client.left.set)
        with pytest.raises(ClientGone):
            await unless_gone(client.receive, forever(log))
        await asyncio.sleep(0)  # the task itself goes on
        return log

    assert asyncio.run(main()) == ["cleaned up"]


def test_an_error_of_the_work_is_its_own() -> None:
    async def work() -> None:
        raise ValueError("no")

    async def main() -> None:
        await unless_gone(Client().receive, work())

    with pytest.raises(ValueError, match="no"):
        asyncio.run(main())


def test_a_cancelled_task_is_no_client_that_has_gone() -> None:
    async def main() -> list[str]:
        log: list[str] = []
        task = asyncio.create_task(unless_gone(Client().receive, forever(log)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return log

    assert asyncio.run(main()) == ["cleaned up"]
