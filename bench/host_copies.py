"""Copies from the host to a physical GPU by size and kind of memory, as the program of day 31 measures them, and what
pinning costs.

    python bench/host_copies.py         # needs a GPU and nvcc; writes bench/results/host_copies_h200.json
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, machine, save

RATES = ROOT / "course" / "day031" / "worked" / "rates.cu"
SIZES = [1 << k for k in range(12, 27, 2)]
WAYS = {"q": "queued", "w": "waited", "p": "pageable"}
ROUNDS = 5
PINNING = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
int main(int, char** argv) {
    const size_t bytes = atoll(argv[1]);
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto us = [](auto from, auto to) { return std::chrono::duration<double, std::micro>(to - from).count(); };
    cudaDeviceProp p;
    char *pinned, *own = (char*)malloc(bytes);
    if (cudaFree(0) || cudaGetDeviceProperties(&p, 0)) return 1;
    memset(own, 1, bytes);
    const auto a = now();
    if (cudaMallocHost(&pinned, bytes)) return 1;
    const auto b = now();
    if (cudaHostRegister(own, bytes, 0)) return 1;
    const auto c = now();
    printf("%.1f %.1f %s\n", us(a, b), us(b, c), p.name);
}
"""


def built(source: Path, folder: Path) -> Path:
    """The program that nvcc makes of it."""
    program = folder / source.stem
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", str(program), str(source)], check=True)
    return program


def said(program: Path, *words: object) -> list[list[str]]:
    """The words of each line that it prints."""
    done = subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def rates(program: Path) -> dict[str, dict[str, float]]:
    """GB/s for each way and size, the best of ROUNDS runs: what disturbs a copy only makes it slower."""
    rounds = [said(program, "".join(WAYS), *SIZES)[1:] for _ in range(ROUNDS)]
    return {
        way: {f"at_{row[0]}": max(float(each[at][column]) for each in rounds) for at, row in enumerate(rounds[0])}
        for column, way in enumerate(WAYS.values(), start=1)
    }


def half_sizes(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Bytes at which half of a copy's time is start, for each way, from the smallest and the largest size."""
    small, large = SIZES[0], SIZES[-1]
    halves = {}
    for way, each in found.items():
        short, long = small / each[f"at_{small}"], large / each[f"at_{large}"]  # in 1/1000 microseconds
        of_a_byte = (long - short) / (large - small)
        halves[way] = (short - of_a_byte * small) / of_a_byte
    return halves


def pinning(program: Path) -> tuple[dict[str, dict[str, float]], str]:
    """Microseconds of cudaMallocHost and of cudaHostRegister by size, the least of ROUNDS; and the GPU's name."""
    found: dict[str, dict[str, float]] = {"malloc_host": {}, "register": {}}
    name = ""
    for size in SIZES:
        rows = [said(program, size)[0] for _ in range(ROUNDS)]
        found["malloc_host"][f"at_{size}"] = min(float(row[0]) for row in rows)
        found["register"][f"at_{size}"] = min(float(row[1]) for row in rows)
        name = " ".join(rows[0][2:])
    return found, name


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if shutil.which("nvcc") is None:
        print("error: host_copies.py needs nvcc and an NVIDIA GPU", file=sys.stderr)
        raise SystemExit(2)
    started = machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pinning.cu").write_text(PINNING)
        found = rates(built(RATES, folder))
        cost, gpu = pinning(built(folder / "pinning.cu", folder))
    half = half_sizes(found)
    save("host_copies_h200", {"gpu": gpu, "gb_per_s": found, "half_bytes": half, "pin_us": cost}, started=started)
    for way, each in found.items():
        print(way, each, round(half[way]))
    print(cost)


if __name__ == "__main__":
    main()
