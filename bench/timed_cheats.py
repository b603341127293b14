"""What becomes of kernels that cheat while they are timed, beside the honest one: tests/judge/cheats/timed on a GPU.

    python bench/timed_cheats.py [--virtual]

Writes results/timed_cheats_<gpu>.json. Then the last rungs of some ladders, so that the price of fresh data and of a
module loaded anew can be seen.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import save

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import gridstride as gs
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.header import KernelFile, read_kernel
from gridstride.judge.problem import Problem
from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.judge.timing.timer import Timer

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "judge" / "cheats" / "timed"


def timed(device: Any, n: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each kernel's time, whether its timed outputs were right, and the least time that the chip allows."""
    problem = replace(find("vector_add").problem, timed={"n": n}, peers={})
    timer = Timer(problem, device, seed=3)
    for path in sorted(FOLDER.glob("*.cu")):
        yield path.stem, measured(timer, problem, device, read_kernel(path))


def ladder(device: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The last rung at its published size."""
    folder = find(name)
    problem = replace(folder.problem, peers={})
    rung = folder.rungs()[-1]
    yield f"{name}/{rung.name}", measured(Timer(problem, device, seed=3), problem, device, rung)


def measured(timer: Timer, problem: Problem, device: Any, file: KernelFile) -> dict[str, Any]:
    """Milliseconds, and whether what was timed was right."""
    begun = time.perf_counter()
    timing = timer.time(build(problem, file, device))
    floor = floor_ms(problem.work(problem.timed), Rates.of(device.properties, problem))
    return {"ms": timing.median_ms, "interval_ms": timing.interval_ms, "spread_ms": timing.spread_ms,
            "rounds": timing.rounds, "right": timing.right, "clocks": timing.clocks or "agree",
            "warm_ms": timing.warm_ms, "multiprocessor_mhz": timing.multiprocessor_mhz, "floor_ms": floor,
            "took_s": time.perf_counter() - begun}  # fmt: skip


def main() -> None:
    """Everything, in words and as JSON; what fails is a line of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--virtual", action="store_true", help="on the virtual GPU, to try this script without a GPU")
    physical = not parser.parse_args().virtual
    device: Any = gs.PhysicalGPU(0) if physical else gs.VirtualGPU()
    found: dict[str, Any] = {}
    parts = [timed(device, 1 << 24 if physical else 1 << 21)]
    if physical:
        parts += [ladder(device, name) for name in ("vector_add", "transpose", "matmul", "reduction")]
    for part in parts:
        try:
            for name, result in part:
                found[name] = result
                print(name, result, flush=True)
        except Exception as error:  # the others are still of use
            print(type(error).__name__, error, flush=True)
    save(f"timed_cheats_{device.chip if physical else 'virtual'}", {"gpu": device.name, "kernels": found})


if __name__ == "__main__":
    main()
