"""Whether two runs of a kernel on the same data left the same bits."""

from __future__ import annotations

import numpy as np

from gridstride.judge.execution.buffers import never_written, poisoned
from gridstride.judge.problem import Array


def repeated(first: Array, second: Array, *, bitwise: bool) -> bool:
    """Whether two runs left the same bits. What neither wrote holds another poison each time; which NaN comes of
    several hangs on their order, so any is as good unless the problem is `bitwise`.
    """
    if first.tobytes() == second.tobytes():
        return True
    raw = (np.ascontiguousarray(array).view(np.uint8).reshape(*first.shape, -1) for array in (first, second))
    same = np.equal(*raw).all(axis=-1) | never_written(first, second)
    if first.dtype.kind == "f" and not bitwise:
        same |= np.isnan(first) & np.isnan(second) & ~poisoned(first, 0) & ~poisoned(second, 1)
    return bool(same.all())


def wrote_less(first: Array, second: Array) -> bool:
    """Whether all that differs is what the second run did not write."""
    return int((first != second).sum()) == int(poisoned(second, 1).sum())


def differing(name: str, first: Array, second: Array) -> str:
    count, idle = int((first != second).sum()), int(poisoned(second, 1).sum())
    if idle == count:
        return (
            f"the first run is right, but the second on the same data wrote nothing to {idle} elements of {name}: does "
            "the kernel do its work once only?"
        )
    return (
        f"two runs on the same data differ in {count} elements of {name}: does the result depend on the order of "
        "threads, on a clock or on an address?"
    )
