"""How long a verdict takes: vector_add's rungs, matmul submissions judged at 512³ too, and one that does not compile.

    python bench/verdict.py [--repeats N] [--rung R]…

Each is a process of its own, `gridstride check` with a cache that holds the virtual GPU's own runtime (compiled once on
a machine, in 1.3 s) and nothing of the kernel: start, worker, compiling, every public and hidden case, 512³ among them,
under the sanitizer, and counting at 512³. Seconds by the clock, and of the processors, which
other work on the machine changes less: on two idle cores a verdict takes at least half of those.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import CORES, Row, machine, publish

SOURCE = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SOURCE))

from gridstride.judge.find import find  # noqa: E402

LIMIT, LIMIT_OF_VECTOR_ADD, LIMIT_OF_AN_ERROR = 10.0, 2.0, 1.0  # seconds
SIZE = 512
PROBLEM = """from dataclasses import replace
from gridstride.judge.find import find

plain = find("matmul").problem
size = {{"M": {n}, "N": {n}, "K": {n}}}
problem = replace(plain, public=(*plain.public, size), observed=size, peers={{}})
"""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--repeats", type=int, default=3)
    words.add_argument("--rung", action="append", default=[])
    asked = words.parse_args()
    started = machine()
    simple, rungs = (
        [each for each in find(name).rungs() if not asked.rung or each.name in asked.rung]
        for name in ("vector_add", "matmul")
    )
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "matmul512"
        problem.mkdir()
        (problem / "problem.py").write_text(PROBLEM.format(n=SIZE))
        rows = [vector_add(Path(rung.filename), Path(folder), asked.repeats) for rung in simple]
        rows += [verdict(Path(rung.filename), problem, asked.repeats) for rung in rungs]
        broken = Path(folder) / "broken.cu"
        broken.write_text(
            Path(find("matmul").rungs()[0].filename).read_text().replace("float sum = 0", "float sum = zero")
        )
        rows.append(compile_error(broken, problem, asked.repeats))
    publish("verdict", rows, started)


def vector_add(file: Path, folder: Path, repeats: int) -> Row:
    """`check` on a rung of the simplest problem; its limit is of processor time."""
    submission = shutil.copy(file, folder / file.name)
    times = [timed(Path(submission), "vector_add", 0) for _ in range(repeats)]
    wall, processors = (statistics.median(each) for each in zip(*times, strict=True))
    fastest = min(used for _, used in times)
    detail = {"wall_s": [w for w, _ in times], "processor_s": [p for _, p in times]}
    figure = f"{wall:.2f} s, {processors:.2f} s of processor time"
    target = f"< {LIMIT_OF_VECTOR_ADD:g} s of processor time"
    return Row(f"vector_add/{file.stem}", figure, target, fastest < LIMIT_OF_VECTOR_ADD, detail=detail)


def verdict(file: Path, problem: Path, repeats: int) -> Row:
    """`check` on a rung, as if it were handed in."""
    submission = problem.parent / f"{file.stem}.cu"
    shutil.copy(file, submission)
    times = [timed(submission, problem, 0) for _ in range(repeats)]
    return row(f"{file.stem}, {SIZE}³ among its cases", times, LIMIT)


def compile_error(file: Path, problem: Path, repeats: int) -> Row:
    """`check` on a file with a name that is not declared."""
    times = [timed(file, problem, 1) for _ in range(repeats)]
    return row("a compile error", times, LIMIT_OF_AN_ERROR)


def row(name: str, times: list[tuple[float, float]], limit: float) -> Row:
    wall, processors = (statistics.median(each) for each in zip(*times, strict=True))
    busy = f"{processors / len(CORES[:2]):.2f} s on {len(CORES[:2])} cores at best"
    detail = {"wall_s": [w for w, _ in times], "processor_s": [p for _, p in times]}
    fastest = min(w for w, _ in times)
    return Row(name, f"{wall:.2f} s, {processors:.2f} s of processor time ({busy})", f"< {limit:g} s", fastest < limit,
               detail=detail)  # fmt: skip


def timed(file: Path, problem: Path | str, status: int) -> tuple[float, float]:
    """Seconds by the clock and of the processors, children included, of one check."""
    with tempfile.TemporaryDirectory() as folder:
        cache = shutil.copytree(primed(), Path(folder) / "cache")
        environment = {**os.environ, "GRIDSTRIDE_CACHE": str(cache), "PYTHONPATH": str(SOURCE)}
        environment["GRIDSTRIDE_DEVICE"] = "virtual"
        command = [sys.executable, "-m", "gridstride", "check", str(file), "--problem", str(problem), "--json"]
        before, begun = used(), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        wall = time.perf_counter() - begun
    if done.returncode != status:
        raise SystemExit(f"{file.name}: exit status {done.returncode}: {done.stderr[-500:] or done.stdout[-500:]}")
    return wall, used() - before


@functools.cache
def primed() -> Path:
    """A cache with the runtime alone; it goes with this process."""
    folder = tempfile.mkdtemp(prefix="gridstride-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {**os.environ, "GRIDSTRIDE_CACHE": folder, "PYTHONPATH": str(SOURCE)}
    prepare = "from gridstride.virtual.machine import engine; engine.prepare()"
    subprocess.run([sys.executable, "-c", prepare], env=environment, check=True)
    return Path(folder)


def used() -> float:
    """Processor seconds of all children that have ended."""
    use: Any = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(use.ru_utime + use.ru_stime)


if __name__ == "__main__":
    main()
