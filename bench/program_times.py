"""What a whole program waits for: `python bench/program_times.py [--repeats 5] [--skip-first]`.

`gridstride run hello.cu` with nothing in its cache (the C++ library is built, which takes a minute of processor time),
with another text than any before, and the same again: the command's wall clock, its start and Python's included, and
the processor time of it and its children. Then, of one program that runs on the virtual GPU, microseconds of an empty
kernel's launch, of a copy of four bytes to the GPU and of cudaMalloc with cudaFree: each the median of rounds of many,
by the program's own clock. Writes bench/results/program_times.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

import common  # noqa: E402

HELLO = r"""
#include <cstdio>

__global__ void hello(int number) { printf("hello %d from thread %d\n", number, threadIdx.x); }

int main()
{
    hello<<<1, 4>>>(NUMBER);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""
CALLS = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void empty() {}

template <class Work> double microseconds(Work work)
{
    constexpr int ROUNDS = 21, EACH = 500;
    std::vector<double> each;
    for (int round = 0; round < ROUNDS; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < EACH; ++i) work();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        each.push_back(took.count() / EACH);
    }
    std::sort(each.begin(), each.end());
    return each[ROUNDS / 2];
}

int main()
{
    int number = 1, *there;
    if (cudaMalloc(&there, sizeof number) != cudaSuccess) return 1;
    const double launch = microseconds([] { empty<<<1, 32>>>(); });
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    const double copy = microseconds([&] { cudaMemcpy(there, &number, sizeof number, cudaMemcpyHostToDevice); });
    const double memory = microseconds([] {
        void* p;
        cudaMalloc(&p, 1 << 20);
        cudaFree(p);
    });
    if (cudaGetLastError() != cudaSuccess) return 1;
    printf("{\"launch\": %f, \"copy\": %f, \"memory\": %f}\n", launch, copy, memory);
    return cudaFree(there) == cudaSuccess ? 0 : 1;
}
"""
LEAST_S = {"first": 90.0, "new": 4.0, "unchanged": 0.4}
LEAST_US = {"launch": 20.0, "copy": 1.0, "memory": 8.0}
WHAT = {"launch": "an empty kernel's launch", "copy": "a copy of 4 bytes", "memory": "cudaMalloc and cudaFree of 1 MiB"}


def run(file: Path, cache: Path) -> tuple[str, dict[str, float]]:
    """What the command printed, and its seconds; CalledProcessError where it failed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    paths = os.pathsep.join(filter(None, (str(HERE.parent / "src"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "gridstride", "run", str(file)], check=True, capture_output=True, text=True,
        env=os.environ | {"GRIDSTRIDE_CACHE": str(cache), "PYTHONPATH": paths},
    )  # fmt: skip
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, {"seconds": wall, "processor_seconds": used}


def hello(folder: Path, number: int) -> Path:
    file = folder / "hello.cu"
    file.write_text(HELLO.replace("NUMBER", str(number)))
    return file


def commands(folder: Path, words: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Seconds of the three kinds of runs."""
    cache, found = folder / "cache", dict[str, list[dict[str, float]]]()
    _, first = run(hello(folder, 0), cache)
    if not words.skip_first:
        found["first"] = [first]
    for number in range(1, words.repeats + 1):
        file = hello(folder, number)
        for kind in ("new", "unchanged"):
            printed, took = run(file, cache)
            assert printed.count(f"hello {number} from") == 4, printed
            found.setdefault(kind, []).append(took)
    return found


def calls(folder: Path, repeats: int) -> dict[str, list[float]]:
    """Microseconds of each kind of call, by run."""
    file, found = folder / "calls.cu", dict[str, list[float]]()
    file.write_text(CALLS)
    for _ in range(repeats):
        printed, _ = run(file, folder / "cache")
        for kind, each in json.loads(printed.splitlines()[-1]).items():
            found.setdefault(kind, []).append(each)
    return found


def rows(seconds: dict[str, list[dict[str, float]]], us: dict[str, list[float]]) -> list[common.Row]:
    made = []
    for kind, runs in seconds.items():
        wall, used = (statistics.median(each[name] for each in runs) for name in ("seconds", "processor_seconds"))
        figure = f"{wall:.2f} s, {used:.2f} s of processor time"
        made.append(common.Row(f"run hello.cu, {kind}", figure, f"{LEAST_S[kind]:g} s", wall <= LEAST_S[kind]))
    for kind, each in us.items():
        median = statistics.median(each)
        made.append(common.Row(WHAT[kind], f"{median:.2f} µs", f"{LEAST_US[kind]:g} µs", median <= LEAST_US[kind]))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-first", action="store_true", help="do not time the run that builds the C++ library")
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    words = parser.parse_args()
    started = common.machine()
    with tempfile.TemporaryDirectory(prefix="gridstride-times-") as made:
        seconds, us = commands(Path(made), words), calls(Path(made), words.repeats)
    table = rows(seconds, us)
    print(common.table(table))
    found: dict[str, Any] = {"seconds": seconds, "microseconds": us}
    print(common.save("program_times", found, started=started, folder=words.results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
