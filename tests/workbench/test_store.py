"""The learner's database in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from gridstride.course.course_errors import ProgressError
from gridstride.workbench.store import Store


def test_work_is_done_in_turn_on_one_thread_that_is_not_the_page_s(tmp_path: Path) -> None:
    order: list[int] = []

    async def work() -> list[int]:
        store = Store(tmp_path / "progress.sqlite")
        threads = await asyncio.gather(
            *(store.do(lambda _, n=n: (order.append(n), threading.get_ident())[1]) for n in range(5))
        )
        await store.close()
        return threads

    threads = asyncio.run(work())
    assert order == [0, 1, 2, 3, 4]
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


def test_what_one_records_the_next_reads(tmp_path: Path) -> None:
    async def work() -> int:
        store = Store(tmp_path / "progress.sqlite")
        await store.do(lambda progress: progress.record_run(4, passed=True, seconds=1.0))
        count = await store.do(lambda progress: len(progress.runs(4)))
        await store.close()
        return count

    assert asyncio.run(work()) == 1


def test_after_an_error_of_the_database_the_file_is_opened_anew(tmp_path: Path) -> None:
    async def work() -> tuple[object, object]:
        store = Store(tmp_path / "progress.sqlite")
        seen = [await store.do(lambda progress: progress)]

        def fails(progress: object) -> None:
            raise ProgressError("locked")

        with pytest.raises(ProgressError, match="locked"):
            await store.do(fails)
        seen.append(await store.do(lambda progress: progress))
        await store.close()
        return seen[0], seen[1]

    first, second = asyncio.run(work())
    assert first is not second
