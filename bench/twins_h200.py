"""Times a problem's kernels in Triton and Numba beside the last rung of its ladder, on a physical GPU.

    python bench/twins_h200.py [--out FOLDER] [--only PROBLEM]…

Each is timed at the problem's timed size as `gridstride climb` times a rung, in turn with the problem's peers, L2 cold;
what was computed is compared with the answer. The verdict on a twin is tests/kernels/test_ladders.py's. Prints a table
and keeps twins_<chip>.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from common import RESULTS, need_gpu, save

import gridstride as gs
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import Folder, find, problem_names
from gridstride.judge.ladder import Ladder
from gridstride.judge.submission import twins
from gridstride.judge.timing.timer import Timer

SEED = 11


def measured(folder: Folder, gpu: gs.PhysicalGPU) -> Iterator[dict[str, Any]]:
    """The last rung that the GPU has the instructions of, then each twin."""
    problem = folder.problem
    timer = Timer(problem, gpu, seed=SEED)
    rung = [each for each in folder.rungs() if each.runs_on(gpu.properties)][-1]
    ladder = Ladder(folder, device=gpu, seed=SEED, sandbox=True)
    try:
        for file in (rung, *twins(folder)):
            if file is rung:
                runnable = build(problem, file, gpu)
            else:
                assert ladder.sandbox is not None
                ladder.build(file)  # in the worker, which makes the PTX
                runnable = ladder.sandbox.on(gpu, file)
            found = timer.time(runnable)
            yield {
                "problem": problem.name, "kernel": file.name, "ms": found.median_ms, "right": found.right,
                "peers": {name: ms / found.median_ms for name, ms in found.peers.items()},
            }  # fmt: skip
    finally:
        ladder.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM")
    words = parser.parse_args()
    need_gpu("bench/twins_h200.py")
    gpu = gs.PhysicalGPU()
    rows: list[dict[str, Any]] = []
    for name in problem_names():
        folder = find(name)
        if (words.only and name not in words.only) or not twins(folder):
            continue
        for row in measured(folder, gpu):
            rows.append(row)
            peers = "  ".join(f"{ratio:.2f}× {peer}" for peer, ratio in row["peers"].items())
            wrong = "" if row["right"] else "  WRONG"
            print(f"{row['problem']:16}{row['kernel']:22}{row['ms']:9.4f} ms  {peers}{wrong}", flush=True)  # fmt: skip
            save(f"twins_{gpu.chip}", {"gpu": gpu.name, "rows": rows}, folder=words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
