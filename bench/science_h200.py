"""Ladders of science against an H200's limits and the vendor's libraries.

    python bench/science_h200.py [--out FOLDER] [--only PROBLEM]…

The last two rungs of a ladder that the GPU has the instructions of, at sizes at which nothing but its work counts; each
is checked, and timed as `gridstride climb` times a rung: in turn with the problem's peers, L2 cold. What it is held
against stands in LIMITS: the bandwidth of a large copy in the same run, the peak of fp32 by the data sheet, or a peer.
Prints a table and keeps science_<chip>.json, row by row.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np
from common import RESULTS, need_gpu, save

import gridstride as gs
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.problem import Array, Problem, Values
from gridstride.judge.timing.timer import Timer, Timing

SEED, COPIED = 11, 4 << 30
PEAK = 67e12  # fp32 operations/s of an H200, by its data sheet
RUNGS = 2


@dataclass(frozen=True, slots=True)
class Limit:
    """What a ladder is held against at `sizes`: `best` seconds of it, or a peer's; `aim` is the share to reach."""

    sizes: dict[str, int]
    held_against: str
    aim: float
    best: Callable[[dict[str, int], float], float] | None = None  # (sizes, bytes/s of a copy) -> s; None: the peer's


LIMITS: dict[str, Limit] = {
    "lattice_boltzmann": Limit({"H": 4096, "W": 4096}, "72 bytes a cell at a copy's bandwidth", 0.85,
                               lambda s, copy: 72 * s["H"] * s["W"] / copy),
    "nbody": Limit({"m": 1 << 22, "n": 4096}, "20 operations a pair at the peak of fp32", 0.6,
                   lambda s, copy: 20 * s["m"] * s["n"] / PEAK),
    "fft": Limit({"rows": 1 << 16}, "torch.fft", 0.9),
    "fft_long": Limit({"rows": 64}, "torch.fft", 0.9),
}  # fmt: skip


def pulls(v: Values, *, absolute: bool) -> Array:
    """What nbody's problem asks for, in float64 by the GPU itself: NumPy would take minutes for so many pairs."""
    import torch

    bodies, sources = (torch.from_numpy(v[name].copy()).cuda().double() for name in ("bodies", "sources"))
    parts = []
    for part in bodies.split(1 << 11):
        offsets = sources[None, :, :3] - part[:, None, :3]
        weight = sources[:, 3] / (offsets.square().sum(-1) + v["softening"]) ** 1.5
        terms = offsets * weight[..., None]
        parts.append((terms.abs() if absolute else terms).sum(1))
    return np.asarray(torch.cat(parts).cpu().numpy())


def timed(name: str, problem: Problem, sizes: dict[str, int]) -> Problem:
    """The problem at these sizes."""
    if name == "nbody":
        problem = replace(problem, reference=lambda v: {"accelerations": pulls(v, absolute=False)},
                          magnitude=lambda v: {"accelerations": 3 * pulls(v, absolute=True)})  # fmt: skip
    return replace(problem, timed=sizes)


def copy_bandwidth() -> float:
    """Bytes read and written a second by a device-to-device copy: the median of ten."""
    import torch

    source, target = (torch.empty(COPIED, dtype=torch.uint8, device="cuda") for _ in range(2))
    times = list[float]()
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return 2 * COPIED / statistics.median(times[2:])


def row(name: str, rung: str, limit: Limit, timing: Timing, copy: float) -> dict[str, Any]:
    """A rung's figures; `share` of what it is held against."""
    seconds = timing.median_ms / 1e3
    best = limit.best(limit.sizes, copy) if limit.best else timing.peers[limit.held_against] / 1e3
    return {
        "problem": name, "rung": rung, "sizes": limit.sizes, "ms": timing.median_ms, "interval_ms": timing.interval_ms,
        "right": timing.right, "peers_ms": dict(timing.peers), "held_against": limit.held_against,
        "share": best / seconds, "aim": limit.aim, "multiprocessor_mhz": timing.multiprocessor_mhz,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM", choices=LIMITS)
    words = parser.parse_args()
    need_gpu("bench/science_h200.py")
    gpu, rows = gs.PhysicalGPU(), list[dict[str, Any]]()
    copy = copy_bandwidth()
    print(f"copy: {copy / 1e12:.2f} TB/s", flush=True)
    for name in words.only or LIMITS:
        limit, folder = LIMITS[name], find(name)
        problem = timed(name, folder.problem, limit.sizes)
        timer = Timer(problem, gpu, seed=SEED)
        for file in [each for each in folder.rungs() if each.runs_on(gpu.properties)][-RUNGS:]:
            found = row(name, file.name, limit, timer.time(build(problem, file, gpu)), copy)
            rows.append(found)
            met = "" if found["right"] else "  WRONG"
            print(f"{name:18}{file.name:22}{found['ms']:9.4f} ms  {found['share']:.3f} of {limit.held_against} "
                  f"(aim {limit.aim:g}){met}", flush=True)  # fmt: skip
            save(f"science_{gpu.chip}", {"gpu": gpu.name, "copy_bytes_per_s": copy, "rows": rows}, folder=words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
