"""Times the kernels of cheats/timed and what they are found guilty of; `python tests/judge/timed_cheats.py OUT.json`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.limits import Rates, floor_ms
from gridstride.judge.runnable import build
from gridstride.judge.timing import Timer

FOLDER = Path(__file__).parent / "cheats" / "timed"


def timed(device: Any, n: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each kernel's time, whether its timed outputs were right, and the least time that the chip allows."""
    problem = replace(find("vector_add").problem, timed={"n": n}, peers={})
    timer = Timer(problem, device, seed=3)
    floor = floor_ms(problem.work(problem.timed), Rates.of(device.properties))
    for path in sorted(FOLDER.glob("*.cu")):
        begun = time.perf_counter()
        timing = timer.time(build(problem, read_kernel(path), device))
        yield path.stem, {"ms": timing.median_ms, "spread_ms": timing.spread_ms, "rounds": timing.rounds,
                          "right": timing.right, "floor_ms": floor, "took_s": time.perf_counter() - begun}  # fmt: skip


def ladder(device: Any, names: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Honest rungs at their published sizes."""
    for name in names:
        folder = find(name)
        problem = replace(folder.problem, peers={})
        timer = Timer(problem, device, seed=3)
        floor = floor_ms(problem.work(problem.timed), Rates.of(device.properties))
        rung = folder.rungs()[-1]
        begun = time.perf_counter()
        timing = timer.time(build(problem, rung, device))
        yield f"{name}/{rung.name}", {"ms": timing.median_ms, "spread_ms": timing.spread_ms, "rounds": timing.rounds,
                                      "right": timing.right, "floor_ms": floor, "took_s": time.perf_counter() - begun}  # fmt: skip


def main() -> None:
    """Everything, to a JSON file; what fails is a line of its own."""
    physical = "--virtual" not in sys.argv
    device = gs.PhysicalGPU(0) if physical else gs.VirtualGPU()
    found: dict[str, Any] = {}
    parts = [timed(device, 1 << 24 if physical else 1 << 21)]
    if physical:
        parts += [ladder(device, (name,)) for name in ("vector_add", "transpose", "matmul", "reduction")]
    for part in parts:
        try:
            for name, result in part:
                found[name] = result
                print(name, result, flush=True)
        except Exception as error:  # the others are still of use
            print(type(error).__name__, error, flush=True)
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
