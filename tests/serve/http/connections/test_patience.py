"""A reader's time is bounded for each piece, not for all of them together."""

from __future__ import annotations

import asyncio

import pytest

from gridstride.serve.http.connections.patience import Patience


def test_a_piece_that_is_never_taken_is_a_timeout() -> None:
    async def work() -> None:
        async with Patience(0.01) as patience:
            patience.begin()
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(work())


def test_what_lasts_between_pieces_is_nobodys_fault() -> None:
    async def work() -> str:
        async with Patience(0.02) as patience:
            for _ in range(3):
                patience.begin()
                await asyncio.sleep(0)
                patience.end()
                await asyncio.sleep(0.05)
        return "all"

    assert asyncio.run(work()) == "all"


def test_a_task_that_is_cancelled_stays_so() -> None:
    async def work() -> None:
        async with Patience(100) as patience:
            patience.begin()
            await asyncio.Event().wait()

    async def both() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(both())
