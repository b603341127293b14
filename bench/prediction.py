"""Predicted times against measured ones: kernels with one limiter, and all rungs of the ladders at several sizes.

    python bench/prediction.py measure FILE [--seconds S]     # on a machine with a GPU: times, registers, occupancy
    python bench/prediction.py count TIMES FILE               # anywhere: what the virtual GPU counts for the same launches
    python bench/prediction.py fit FILE                       # the constants that fit one half best
    python bench/prediction.py                                # predicts all, compares, writes results/prediction_h200.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from kernel_set import LARGE, Case, ladder, limited, module

import gridstride as gs
from gridstride.judge.find import problem_names

COLD = 3 * 60 << 20
"""Bytes that rotated buffer sets hold together, so that every launch finds a cold L2."""


def measure(out: Path, seconds: float) -> int:
    """Times everything until the time is used up."""
    end = time.monotonic() + seconds
    device = gs.device()
    found: dict[str, Any] = {"gpu": device.name, "limited": {}, "ladders": {}}

    def save() -> None:
        out.write_text(json.dumps(found, indent=1))

    for one in limited():
        if time.monotonic() < end:
            try:
                sets = [one.arguments(one.grid, one.rounds)]
                found["limited"][one.name] = timed(one.kernel, one.grid, one.block, 0, sets)
                print(one.name, found["limited"][one.name], flush=True)
            except Exception as error:
                print("failed", one.name, repr(error)[:300], flush=True)
            del sets
    save()
    for problem in problem_names():
        for sizes in LARGE[problem]:
            sets = None
            for case in ladder(problem, sizes):
                if time.monotonic() > end:
                    continue
                try:
                    sets = sets or _sets(case)
                    found["ladders"][case.name] = timed(case.kernel(), case.grid, case.block, case.shared, sets)
                    print(case.name, found["ladders"][case.name], flush=True)
                except Exception as error:
                    print("failed", case.name, repr(error)[:300], flush=True)
            save()
    return 0


def _sets(case: Case) -> list[tuple[Any, ...]]:
    first = case.arguments()
    size = sum(a.nbytes for a in first if hasattr(a, "nbytes"))
    count = min(64, max(2, -(-COLD // max(size, 1))))
    return [first] + [tuple(_copied(a) for a in first) for _ in range(count - 1)]


def _copied(value: Any) -> Any:
    if not hasattr(value, "nbytes"):
        return value
    return gs.to_device(value.numpy())


def timed(kernel: Any, grid: Any, block: Any, shared: int, sets: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Milliseconds per launch when launches follow each other without a gap, and what the driver says of the kernel."""
    device = gs.device()
    hold = module("limited.cu")["hold"]
    bound = kernel._module.on(device).bound(kernel.name)
    loaded = bound.kernel

    def batch(count: int) -> float:
        start, stop = device.event(), device.event()
        hold[1, 1](int(2000 * (60 + 25 * count)))
        start.record()
        for i in range(count):
            kernel[grid, block, shared](*sets[i % len(sets)])
        stop.record()
        return stop.elapsed_ms(start) / count

    batch(len(sets) if len(sets) < 9 else 2)
    once = batch(2)
    count = max(1, min(40, int(3.0 / max(once, 1e-3))))
    times = [batch(count) for _ in range(5 if once < 50 else 2)]
    threads = block if isinstance(block, int) else block[0] * (block[1] if len(block) > 1 else 1)
    return {"ms": statistics.median(times), "least": min(times), "registers": loaded.registers,
            "local": loaded.local_bytes, "static_shared": loaded.static_shared,
            "blocks_per_sm": _most_blocks(loaded, threads, shared)}  # fmt: skip


def _most_blocks(loaded: Any, threads: int, shared: int) -> int:
    from gridstride.device.driver import bindings, check

    with gs.device().current():
        answer = bindings().cuOccupancyMaxActiveBlocksPerMultiprocessor(loaded._function, threads, shared)
    return int(check(answer, "occupancy"))


def main(words: list[str]) -> int:
    if words[:1] == ["measure"]:
        return measure(Path(words[1]), float(words[3]) if len(words) > 3 else 120.0)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
