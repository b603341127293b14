"""Counts of single warp-wide accesses: what Nsight Compute says on a GPU, against what the virtual GPU counts.

    ncu --clock-control none --csv --metrics $(python bench/access_patterns.py metrics) \\
        python bench/access_patterns.py launch > counts.csv        # on a machine with a GPU
    python bench/access_patterns.py record counts.csv tests/virtual/fixtures/access_patterns_h200.json
    python bench/access_patterns.py                                      # compares the virtual GPU with that, anywhere
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = """
template <typename T> __global__ void shared_load(const int* where, T* out) {
    extern __shared__ float4 raw[];
    T* tile = reinterpret_cast<T*>(raw);
    out[threadIdx.x] = tile[where[threadIdx.x]];
}
template <typename T> __global__ void shared_store(const int* where, T* out) {
    extern __shared__ float4 raw[];
    T* tile = reinterpret_cast<T*>(raw);
    tile[where[threadIdx.x]] = T();
    __syncwarp();
    if (where[0] < 0) out[0] = tile[where[1]];
}
template <typename T> __global__ void global_load(const int* where, T* out, const T* in) {
    out[threadIdx.x] = in[where[threadIdx.x]];
}
"""
TYPES = {"float": 4, "float2": 8, "float4": 16}
FIXTURE = Path(__file__).parent.parent / "tests/virtual/fixtures/access_patterns_h200.json"
ELEMENTS = 1024  # of the array that is indexed; 16 KB at 16 bytes each
METRICS = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
}


def patterns() -> dict[str, np.ndarray[Any, Any]]:
    """Index of every lane, by name."""
    lane = np.arange(32)
    rng = np.random.default_rng(7)
    found = {f"stride_{s}": lane * s for s in (1, 2, 3, 4, 5, 8, 16, 32)}
    found |= {f"groups_of_{g}": lane // g for g in (2, 4, 8, 16, 32)}
    found |= {f"repeat_{r}": lane % r for r in (2, 4, 8, 16)}
    rows = ((8, 32), (16, 32), (4, 16), (8, 33), (2, 64))
    found |= {f"rows_{r}_apart_{d}": lane // r * d + lane % r for r, d in rows}
    found |= {f"column_pairs_{d}": lane % 2 + lane // 2 * d for d in (8, 16, 32)}
    found |= {f"xor_{x}": lane ^ x for x in (1, 5, 16)} | {"reversed": 31 - lane, "offset_1": lane + 1}
    found |= {f"shuffled_{n}": rng.permutation(32) for n in range(3)}
    found |= {f"random_{limit}_{n}": rng.integers(0, limit, 32) for limit in (16, 64, 256, 1024) for n in range(4)}
    return found


def cases() -> Iterator[tuple[str, str, str, np.ndarray[Any, Any]]]:
    """(kernel, type, pattern, indices), in the order in which they are launched."""
    for kernel in ("shared_load", "shared_store", "global_load"):
        for type_ in TYPES:
            for name, where in patterns().items():
                yield kernel, type_, name, where.astype(np.int32) % ELEMENTS


def launch() -> None:
    """Launches every case once on the device in use."""
    for kernel, type_, _, where in cases():
        run_case(kernel, type_, where, observe=False)


def run_case(kernel: str, type_: str, where: np.ndarray[Any, Any], *, observe: bool) -> Any:
    import gridstride as gs

    compiled = _module()[f"{kernel}<{type_}>"]
    floats = TYPES[type_] // 4
    arguments: list[Any] = [gs.to_device(where), gs.to_device(np.zeros(32 * floats, np.float32))]
    if kernel == "global_load":
        arguments.append(gs.to_device(np.zeros(ELEMENTS * floats, np.float32)))
    shared = 0 if kernel == "global_load" else ELEMENTS * TYPES[type_]
    if observe:
        return compiled.observe(1, 32, shared)(*arguments)
    compiled[1, 32, shared](*arguments)
    return None


_MODULES: list[Any] = []


def _module() -> Any:
    import gridstride as gs

    if not _MODULES:
        _MODULES.append(gs.cuda(SOURCE, filename="access_patterns.cu"))
    return _MODULES[0]


def record(counts: Path, fixture: Path) -> None:
    """Turns ncu's CSV into the fixture."""
    text = counts.read_text().splitlines()
    start = next(i for i, line in enumerate(text) if line.startswith('"ID"'))
    by_launch: dict[int, dict[str, int]] = {}
    for row in csv.DictReader(text[start:]):
        value = int(float(row["Metric Value"].replace(",", "")))
        by_launch.setdefault(int(row["ID"]), {})[METRICS[row["Metric Name"]]] = value
    rows = []
    for (kernel, type_, name, _), measured in zip(cases(), by_launch.values(), strict=True):
        rows.append({"kernel": kernel, "type": type_, "pattern": name, **measured})
    fixture.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    fixture.write_text(f'{{"machine": "NVIDIA H200", "tool": "ncu", "cases": [\n{lines}\n]}}\n')


def counted(kernel: str, type_: str, where: np.ndarray[Any, Any]) -> dict[str, int]:
    """The same figures from the virtual GPU."""
    run = run_case(kernel, type_, where, observe=True)
    line = next(c for c in run.counters.lines if c.line == _line_of(kernel))
    if kernel != "global_load":
        return {f"{kernel}_wavefronts": line.shared_wavefronts}
    # The line's other accesses are the index load and the store: their patterns are known.
    store = TYPES[type_]
    return {
        "global_load_requests": line.global_requests - 1,
        "global_load_sectors": line.global_sectors - store,
    }


def _line_of(kernel: str) -> int:
    lines = SOURCE.splitlines()
    start = next(i for i, text in enumerate(lines) if f"void {kernel}(" in text)
    return next(i for i in range(start + 1, len(lines)) if "where[threadIdx.x]" in lines[i]) + 1


def compare(fixture: Path) -> int:
    """Prints every case that differs; the number of them is the exit status."""
    measured = json.loads(fixture.read_text())["cases"]
    different = 0
    for (kernel, type_, name, where), row in zip(cases(), measured, strict=True):
        ours = counted(kernel, type_, where)
        wrong = {k: (v, row[k]) for k, v in ours.items() if row[k] != v}
        if wrong:
            different += 1
            print(kernel, type_, name, ", ".join(f"{k}: {a} here, {b} on the GPU" for k, (a, b) in wrong.items()))
    print(f"{len(measured) - different} of {len(measured)} cases agree")
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help="without one: compare")
    commands.add_parser("metrics", help="print the metrics that ncu is to measure")
    commands.add_parser("launch", help="launch every access once, under ncu")
    recording = commands.add_parser("record", help="write the fixture from ncu's counts")
    recording.add_argument("counts", type=Path, help="ncu's CSV")
    recording.add_argument("fixture", type=Path)
    options = parser.parse_args()
    match options.command:
        case "metrics":
            print(",".join(METRICS))
        case "launch":
            launch()
        case "record":
            record(options.counts, options.fixture)
        case _:
            return min(compare(FIXTURE), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
