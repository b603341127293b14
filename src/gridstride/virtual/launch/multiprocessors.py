"""Which multiprocessors a launch may run on, as its blocks are told (%smid)."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from gridstride.protocol import Shape

Array = np.ndarray[Any, Any]
_MOST_WORKERS = 4096


@functools.lru_cache(maxsize=64)
def _numbers(multiprocessors: tuple[int, ...] | None) -> Array:
    return np.arange(_MOST_WORKERS, dtype=np.uint32) if multiprocessors is None else np.array(multiprocessors, "u4")


def workers_of(shape: Shape, workers: int, ptx: Iterable[str]) -> int:
    """How many workers may run a launch: one where blocks on some of the multiprocessors ask which one it is, so that
    no two that run at a time have the same. A kernel may keep something for each, as if one block ran there at a time.
    """
    if shape.multiprocessors is None or not any("%smid" in text for text in ptx):
        return workers
    return 1


def fill_multiprocessors(record: Array, shape: Shape) -> Array:
    """Fills a launch record in; the table has to be kept as long as the record is used.

    On the whole chip a multiprocessor is a worker; of some, blocks take turns with all.
    """
    numbers = _numbers(shape.multiprocessors)
    record["sm_numbers"] = numbers.ctypes.data
    is_whole = shape.multiprocessors is None
    record["sm_of_worker"], record["sm_span"] = (1, 1) if is_whole else (0, len(numbers))
    return numbers
