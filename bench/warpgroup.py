"""wgmma: what a physical GPU makes of random operands, and how fast the virtual GPU multiplies.

    python bench/warpgroup.py record tests/virtual/fixtures/warpgroup_h200.npz    # on a machine with a Hopper GPU
    python bench/warpgroup.py compare    # the virtual GPU against the recording, anywhere
    python bench/warpgroup.py speed      # a warp-specialised 2048³ matmul with TMA, on two cores

A recording holds a sample of D's registers of every case of `tests/virtual/cases/wgmma_cases.py` by its name; the
operands are made again from the name.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "virtual"
sys.path[:0] = [str(ROOT / "src"), str(TESTS / "cases")]

import warpgroup_kernels as kernels  # noqa: E402
import wgmma_cases  # noqa: E402

import gridstride as gs  # noqa: E402

FIXTURE = TESTS / "fixtures" / "warpgroup_h200.npz"


def record(path: Path) -> None:
    """Runs every case on the physical GPU and stores samples; what it refuses is named and left out."""
    results = {}
    with gs.use("physical"):
        for case in wgmma_cases.cases():
            try:
                results[case.name] = wgmma_cases.sampled(case, wgmma_cases.run(case, wgmma_cases.given(case)))
            except gs.DeviceError as error:
                print(f"{case.name}: {error}")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **results)  # type: ignore[arg-type]  # its allow_pickle is no name of a case
    print(f"{len(results)} cases, {path.stat().st_size} bytes")


def compare(path: Path) -> int:
    """Prints each case with how many numbers differ, by kind; returns how many cases do."""
    wrong = 0
    with np.load(path) as recorded, gs.use("virtual"):
        for case in wgmma_cases.cases():
            if case.name not in recorded:
                print(f"{case.name}: not recorded")
                continue
            got = wgmma_cases.sampled(case, wgmma_cases.run(case, wgmma_cases.given(case)))
            differs = (got != recorded[case.name]).sum(1)
            found = ", ".join(f"{kind} {n}" for kind, n in zip(case.kinds, differs, strict=True) if n)
            wrong += bool(found)
            print(f"{case.name}: {found or 'equal'}")
    return wrong


def speed(n: int = 2048) -> None:
    """The kernel of the tests, halves and f32 sums."""
    kind = kernels.HALF
    a, b = (kernels.numbers(kind, n, n, seed) for seed in range(2))
    with gs.use(gs.VirtualGPU(workers=2)):
        kernels.run_pipelined(kind, a[:128, :64], b[:128, :64])
        start = time.perf_counter()
        c = kernels.run_pipelined(kind, a, b)
        seconds = time.perf_counter() - start
    wrong = np.abs(c - a.astype(np.float32) @ b.astype(np.float32).T).max()
    print(f"{n}³ in {seconds:.3f} s: {2 * n**3 / seconds / 1e9:.1f} GFLOP/s, furthest from float32 {wrong:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("record", "compare", "speed"), default="compare")
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    options = parser.parse_args()
    match options.what:
        case "record":
            record(options.recording)
        case "compare":
            sys.exit(compare(options.recording) > 0)
        case "speed":
            speed()


if __name__ == "__main__":
    main()
