"""A variable beside the kernel that is too small for the timed grid is foretold from the smaller ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gridstride.judge.cases.path_cases import KernelPath, VariableUse
from gridstride.judge.results.outgrown import outgrown

GRIDS = (1, 2, 7, 40, 999)
TIMED = (4096, 256, 1)


def path(written: int, *, size: int = 1 << 20, exact: bool = True) -> KernelPath:
    return KernelPath(b"\1", frozenset(), (VariableUse("state", size, written),) if written else (), exact=exact)


def found(paths: Sequence[KernelPath], grids: Sequence[int] = GRIDS, timed: tuple[int, ...] = TIMED) -> list[str]:
    return [f.message for f in outgrown([(blocks, 1, 1) for blocks in grids], paths, timed, "n=268435456")]


def test_what_grows_by_a_block_runs_out_at_the_timed_size() -> None:
    (message,) = found([path(8 * blocks) for blocks in GRIDS])
    assert message.startswith(
        "state has 1,048,576 bytes, and each block writes the next 8 of them: the 1,048,576 blocks of the timed size "
        "(n=268435456) would write 8,388,608."
    )


def test_bytes_ahead_of_the_blocks_count() -> None:
    paths = [path(8 * blocks + 16, size=8 * (1 << 20) + 8) for blocks in GRIDS]
    assert "each block writes the next 8 of them and 16 more" in found(paths)[0]


@pytest.mark.parametrize(
    ("what", "paths"),
    {
        "large enough": [path(8 * blocks, size=8 << 20) for blocks in GRIDS],
        "not written": [path(0) for _ in GRIDS],
        "one counter": [path(4, size=4) for _ in GRIDS],
        "shared by many blocks": [path(8 * min(blocks, 64)) for blocks in GRIDS],
        "not on a line": [path(8 * blocks + blocks % 2) for blocks in GRIDS],
        "shared in a large grid": [*(path(8 * blocks) for blocks in GRIDS[:-1]), path(8 * 64, exact=False)],
    }.items(),
)
def test_nothing_is_said_of_others(what: str, paths: list[KernelPath]) -> None:
    grids = (*GRIDS[:-1], 900_000) if what == "shared in a large grid" else GRIDS
    assert found(paths, grids) == []


def test_a_large_grid_of_which_some_blocks_were_watched_may_end_a_little_lower() -> None:
    paths = [*(path(8 * blocks) for blocks in GRIDS), path(8 * 900_000 - 64, exact=False)]
    assert len(found(paths, (*GRIDS, 900_000))) == 1


def test_few_grids_foretell_nothing() -> None:
    assert found([path(8 * blocks) for blocks in GRIDS[:4]], GRIDS[:4]) == []


def test_a_grid_that_has_another_size_at_other_data_foretells_nothing() -> None:
    assert found([*(path(8 * blocks) for blocks in GRIDS), path(8)], (*GRIDS, 999)) == []
