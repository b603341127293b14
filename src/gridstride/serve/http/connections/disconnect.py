"""Work for a client ends when the client goes away, whether it is being streamed to or only waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from gridstride.serve.http.errors import ClientGone

T = TypeVar("T")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives; ClientGone, and `work` cancelled, when the client goes first. The body must have been read.

    `work` runs in the caller's task, which the one that watches cancels: a task for itself would be the dearer half.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelled_before, gone = task.cancelling(), False

    def leave(watching: asyncio.Future[Any]) -> None:
        nonlocal gone
        if not watching.cancelled() and not ended:
            watching.exception()  # is taken note of: a connection that cannot be read is one that has gone
            gone = True
            task.cancel()

    ended = False
    watching = asyncio.ensure_future(_gone(receive))
    watching.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if gone and task.uncancel() <= cancelled_before:
            raise ClientGone from None
        raise
    finally:
        ended = True
        watching.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
