"""Times the rungs of spmv beside cuSPARSE on matrices of three kinds, on a physical GPU.

    python bench/spmv_h200.py [--out FOLDER] [--only MATRIX]… [--scale DIVISOR]

`laplacian`: of 4096² cells in the plane, five entries a row. `even`: 2^20 rows of 32 entries in any columns. `power`:
2^20 rows with as many entries in all, whose lengths fall as a power of their rank: the longest has an eighth of them.
Each is timed as `gridstride climb` times a rung, in turn with PyTorch's product, which is cuSPARSE's, L2 cold; what was
computed is compared with the answer. Prints a table and keeps spmv_<chip>.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np
from common import RESULTS, need_gpu, save

import gridstride as gs
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.problem import Array, Problem
from gridstride.judge.timing.timer import Timer

SEED = 11


def laplacian(scale: int) -> dict[str, Array]:
    """Of a square field beyond whose edges there is 0; columns of a row in ascending order."""
    side = 4096 // scale
    row, column = np.divmod(np.arange(side * side, dtype=np.int32), np.int32(side))
    there = np.stack((row > 0, column > 0, row >= 0, column < side - 1, row < side - 1), 1)
    neighbours = np.arange(side * side, dtype=np.int32)[:, None] + np.array([-side, -1, 0, 1, side], np.int32)
    return {"offsets": offsets_of(there.sum(1)), "indices": neighbours[there]}


def even(scale: int) -> dict[str, Array]:
    """32 entries a row, in any columns."""
    rows = (1 << 20) // scale
    return {"offsets": offsets_of(np.full(rows, 32)), "indices": in_any_columns(32 * rows, rows)}


def power(scale: int) -> dict[str, Array]:
    """Lengths in any order that are 1 over their rank to 1.1, times as much as there is to give away."""
    rows = (1 << 20) // scale
    shares = np.random.default_rng(SEED).permutation(np.arange(1, rows + 1.0) ** -1.1)
    lengths = np.floor(shares * (32 * rows / shares.sum())).astype(np.int64)
    return {"offsets": offsets_of(lengths), "indices": in_any_columns(int(lengths.sum()), rows)}


def offsets_of(lengths: Array) -> Array:
    """Where rows of these lengths begin, and the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)


def in_any_columns(entries: int, columns: int) -> Array:
    """Columns, each as likely as all others."""
    return np.random.default_rng(SEED).integers(columns, size=entries, dtype=np.int32)


MATRICES: Mapping[str, Callable[[int], dict[str, Array]]] = {"laplacian": laplacian, "even": even, "power": power}


def problem_of(matrix: dict[str, Array]) -> Problem:
    """spmv with this matrix as the timed one; its values and x are drawn anew for each set of data."""
    rows = len(matrix["offsets"]) - 1
    timed = {"rows": rows, "columns": rows, "entries": len(matrix["indices"])}
    spmv = find("spmv").problem
    return dataclasses.replace(spmv, timed=timed, arrange=lambda v: dict(matrix), special={}, wide_data=())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", action="append", default=[], choices=MATRICES, metavar="MATRIX")
    parser.add_argument("--scale", type=int, default=1, help="so many times fewer rows, to try the script")
    words = parser.parse_args()
    need_gpu("bench/spmv_h200.py")
    gpu = gs.PhysicalGPU()
    rows: list[dict[str, Any]] = []
    for name in words.only or MATRICES:
        problem = problem_of(MATRICES[name](words.scale))
        timer = Timer(problem, gpu, seed=SEED)
        _, moved = problem.work(problem.timed)
        for file in find("spmv").rungs():
            found = timer.time(build(problem, file, gpu))
            ratios = {peer: ms / found.median_ms for peer, ms in found.peers.items()}
            rate = moved / found.median_ms / 1e9
            rows.append({"matrix": name, **problem.timed, "rung": file.name, "ms": found.median_ms, "tb_s": rate,
                         "right": found.right, "peers": ratios})  # fmt: skip
            peers = "  ".join(f"{ratio:.2f}× {peer}" for peer, ratio in ratios.items())
            wrong = "" if found.right else "  WRONG"
            print(f"{name:12}{file.name:22}{found.median_ms:9.4f} ms {rate:6.2f} TB/s  {peers}{wrong}", flush=True)
            save(f"spmv_{gpu.chip}", {"gpu": gpu.name, "rows": rows}, folder=words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
